"""Which version of each API a broker and we have in common, and which features its cluster has switched on."""

from __future__ import annotations

from collections.abc import Mapping

from tapelog.client.errors import ProtocolError
from tapelog.wire.api_keys import NAMES
from tapelog.wire.message import Message
from tapelog.wire.messages.api_versions_response import ApiVersionsResponse


class Versions:
    """What one broker told about itself."""

    def __init__(self, ranges: Mapping[int, tuple[int, int]], features: Mapping[str, int], broker: str) -> None:
        self._ranges = dict(ranges)
        self._features = dict(features)
        self._broker = broker

    @staticmethod
    def told(answer: ApiVersionsResponse, broker: str) -> Versions:
        """From a broker's answer."""
        return Versions(
            {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys},
            {feature.name: feature.max_version_level for feature in answer.finalized_features},
            broker,
        )

    def common(self, request: type[Message], most: int | None = None) -> int | None:
        """The newest version that both sides know, not above `most`; None if there is none."""
        theirs = self._ranges.get(request.API_KEY)
        if theirs is None:
            return None
        newest = min(theirs[1], request.STABLE_MAX if most is None else most)
        return newest if newest >= max(theirs[0], request.MIN_VERSION) else None

    def choose(self, request: type[Message], most: int | None = None) -> int:
        """The same, where it must exist; ProtocolError if it does not."""
        version = self.common(request, most)
        if version is None:
            raise ProtocolError(
                f"{self._broker} and this client have no version of {NAMES[request.API_KEY]} in common",
                f"broker {self._broker}",
                "use brokers of Kafka 2.1 or newer",
            )
        return version

    def feature(self, name: str) -> int:
        """The level at which the cluster has that feature; 0 where it does not know it."""
        return self._features.get(name, 0)
