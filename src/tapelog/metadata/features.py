"""Feature levels: what this version supports, what a new cluster starts with, and UpdateFeatures.

Only what the broker really does is listed. A feature that is absent has level 0.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.kafka_configs import METADATA_VERSION
from tapelog.metadata import eligible
from tapelog.metadata.electorate import ELR_FEATURE
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import FeatureLevelRecord, MetadataRecord
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tapelog.wire.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse

METADATA_VERSION_FEATURE: Final = "metadata.version"
KRAFT_VERSION_FEATURE: Final = "kraft.version"
"""Kept by the quorum itself, in control records: the controller neither writes nor changes it."""

SUPPORTED: Final[dict[str, tuple[int, int]]] = {
    ELR_FEATURE: (0, 1),
    "group.version": (0, 1),
    KRAFT_VERSION_FEATURE: (0, 1),
    METADATA_VERSION_FEATURE: (METADATA_VERSION, METADATA_VERSION),
    "transaction.version": (0, 2),
}
"""Feature name -> least and greatest level; a new cluster starts at the greatest."""

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3


def bootstrap_features() -> list[FeatureLevelRecord]:
    """The levels of a new cluster; metadata.version first, as readers of the log expect."""
    others = [name for name in sorted(SUPPORTED) if name not in (METADATA_VERSION_FEATURE, KRAFT_VERSION_FEATURE)]
    names = [METADATA_VERSION_FEATURE, *others]
    return [FeatureLevelRecord(name=name, feature_level=SUPPORTED[name][1]) for name in names if SUPPORTED[name][1] > 0]


def update_features(
    image: MetadataImage, request: UpdateFeaturesRequest, version: int
) -> Outcome[UpdateFeaturesResponse]:
    """Change levels, all of them or none: one bad update fails the request."""
    records: list[MetadataRecord] = []
    seen: dict[str, None] = {}
    for update in request.feature_updates:
        try:
            if update.feature in seen:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "it appears more than once")
            seen[update.feature] = None
            _check_update(image, update, version)
        except KafkaError as error:
            message = f"Nothing was changed because of {update.feature}: {error.message}"
            return Outcome([], UpdateFeaturesResponse(error_code=error.code, error_message=message))
        if image.features.get(update.feature, 0) != update.max_version_level:
            records.append(FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level))
            if update.feature == ELR_FEATURE and update.max_version_level == 0:
                records += eligible.forget(image)
    response = UpdateFeaturesResponse(error_message=None)
    if version < 2:
        response.results = [UpdatableFeatureResult(feature=name, error_message=None) for name in seen]
    return Outcome([] if request.validate_only else records, response)


def _check_update(image: MetadataImage, update: FeatureUpdateKey, version: int) -> None:
    name, level = update.feature, update.max_version_level
    if version == 0:
        kind = SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    else:
        kind = update.upgrade_type
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{kind} is no kind of upgrade")
    span = SUPPORTED.get(name)
    if span is None:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, "this feature is not known here")
    if level < 0 or not span[0] <= level <= span[1]:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"level {level} is not among {span[0]} to {span[1]}")
    now = image.features.get(name, 0)
    if name == KRAFT_VERSION_FEATURE and level != now:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"it is {now} since the cluster was made, and stays")
    for who, supported in _nodes(image):
        least, most = supported.get(name, (0, 0))
        if not least <= level <= most:
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{who} supports {least} to {most} only")
    if level < now and kind == UPGRADE:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"it is at {now}, and a downgrade must be asked for")
    if level > now and kind != UPGRADE:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"it is at {now}, and {level} is not a downgrade")


def _nodes(image: MetadataImage) -> list[tuple[str, dict[str, tuple[int, int]]]]:
    """Every registered node, and what it supports."""
    return [
        (f"{kind} {id}", {name: (least, most) for name, least, most in nodes[id].features})
        for kind, nodes in (("broker", image.brokers), ("controller", image.controllers))
        for id in sorted(nodes)
        if nodes[id].features
    ]
