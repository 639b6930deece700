"""Feature levels: what this version supports, what a new cluster starts with, and UpdateFeatures.

Only what the broker really does is listed. A feature that is absent has level 0.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.kafka_configs import METADATA_VERSION
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import FeatureLevelRecord
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tapelog.wire.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse

METADATA_VERSION_FEATURE: Final = "metadata.version"

SUPPORTED: Final[dict[str, tuple[int, int]]] = {
    "group.version": (0, 1),
    "kraft.version": (0, 0),
    METADATA_VERSION_FEATURE: (METADATA_VERSION, METADATA_VERSION),
    "transaction.version": (0, 2),
}
"""Feature name -> least and greatest level; a new cluster starts at the greatest."""

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3


def bootstrap_features() -> list[FeatureLevelRecord]:
    """The levels of a new cluster; metadata.version first, as readers of the log expect."""
    names = [METADATA_VERSION_FEATURE, *(name for name in sorted(SUPPORTED) if name != METADATA_VERSION_FEATURE)]
    return [FeatureLevelRecord(name=name, feature_level=SUPPORTED[name][1]) for name in names if SUPPORTED[name][1] > 0]


def update_features(
    image: MetadataImage, request: UpdateFeaturesRequest, version: int
) -> Outcome[UpdateFeaturesResponse]:
    """Change levels, all of them or none: one bad update fails the request."""
    records: list[FeatureLevelRecord] = []
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
    if level < now and kind == UPGRADE:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"it is at {now}, and a downgrade must be asked for")
    if level > now and kind != UPGRADE:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"it is at {now}, and {level} is not a downgrade")
