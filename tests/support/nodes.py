"""How many nodes the client tests run against: TAPELOG_TEST_NODES."""

from __future__ import annotations

import os

import pytest

NODES = int(os.environ.get("TAPELOG_TEST_NODES", "1"))

one_node = pytest.mark.skipif(NODES > 1, reason="this is how one node alone looks")
