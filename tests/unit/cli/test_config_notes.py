"""What `tape config` says of settings that were accepted and change nothing."""

from __future__ import annotations

from tapelog.cli.config_notes import doubtful, elsewhere, is_ours

NAMES = ["num.netwok.threads", "num.network.threads", "my.plugin.url", "log.retention.ms"]


def test_unknown_names_and_those_without_effect_are_told_apart() -> None:
    assert doubtful(NAMES) == {
        "num.netwok.threads": (
            "unknown setting 'num.netwok.threads': kept, not used; did you mean 'num.network.threads'?"
        ),
        "num.network.threads": "num.network.threads has no effect here",
        "my.plugin.url": "unknown setting 'my.plugin.url': kept, not used",
    }


def test_on_a_cluster_of_another_make_only_likely_slips_are_told() -> None:
    assert elsewhere(doubtful(NAMES)) == {
        "num.netwok.threads": "num.netwok.threads is not a setting of Kafka; did you mean 'num.network.threads'?"
    }


def test_a_cluster_is_known_by_its_settings() -> None:
    assert is_ours(["min.insync.replicas", "tapelog.flush"]) and not is_ours(["min.insync.replicas"])
