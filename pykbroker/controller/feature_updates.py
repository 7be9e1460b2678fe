"""Upgrades and downgrades of feature levels (KIP-584, KIP-778). Rules and messages: FeatureControlManager of Kafka 4.4.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pykbroker.controller.eligible_leaders import safety_records
from pykbroker.metadata.features import CURRENT, ELR_VERSION, KRAFT_VERSION, METADATA_VERSION, Features
from pykbroker.metadata.image import MetadataImage
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.config_record import ConfigRecord
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord

#: Levels of metadata.version without a change of records, from which a downgrade is safe (MetadataVersion).
_SAME_RECORDS = frozenset({9, 10, 12, 16, 18, 19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 31})
#: What level 1 of a feature depends on, besides metadata.version 3.3-IV3 (7), on which all depend.
_NEEDED_METADATA_VERSION = {ELR_VERSION: 23}
_OLDEST_NEEDED = (7, "3.3-IV3")


class UpgradeType(IntEnum):
    """The kind of change that a request permits."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(slots=True)
class FeatureUpdate:
    """The requested level of a feature; ``upgrade_type`` as in the request, possibly unknown."""

    feature: str
    level: int
    upgrade_type: int = UpgradeType.UPGRADE


def plan_updates(
    image: MetadataImage,
    controller_id: int,
    kraft_version: int,
    updates: Sequence[FeatureUpdate],
    *,
    static_min_isr: int,
    features: Features = CURRENT,
) -> list[ConfigRecord | FeatureLevelRecord]:
    """The records for levels that change. Of two updates of one feature the later is used.

    ``kraft_version`` is the level of the quorum itself, which is not in the image, and gets no record here; ``static_min_isr`` is the file's
    min.insync.replicas. Raises KafkaError INVALID_UPDATE_VERSION for the first update that is refused: then none is made.
    """
    once = {update.feature: update for update in updates}
    now = {**image.features, KRAFT_VERSION: kraft_version}
    proposed = {**now, **{update.feature: update.level for update in once.values()}}
    records: list[ConfigRecord | FeatureLevelRecord] = []
    if ELR_VERSION in once and once[ELR_VERSION].level > 0:
        records += safety_records(image, static_min_isr)
    for update in once.values():
        current = now.get(update.feature, 0)
        _check_update(image, controller_id, features, update, current)
        if update.feature == METADATA_VERSION:
            _check_metadata_version(update, current)
        else:
            _check_needs(update, proposed)
        if update.level != current and update.feature != KRAFT_VERSION:
            records.append(FeatureLevelRecord(name=update.feature, feature_level=update.level))
    return records


def upgrades_voters(kraft_version: int, updates: Sequence[FeatureUpdate]) -> bool:
    """Whether static voters become dynamic ones (KIP-853) by updates that ``plan_updates`` has admitted."""
    levels = {update.feature: update.level for update in updates}
    return levels.get(KRAFT_VERSION, kraft_version) > kraft_version


def _check_update(
    image: MetadataImage, controller_id: int, features: Features, update: FeatureUpdate, current: int
) -> None:
    if update.upgrade_type not in set(UpgradeType):
        raise _refusal(update, "The controller does not support the given upgrade type.")
    if update.level < 0:
        raise _refusal(update, "A feature version cannot be less than 0.")
    _check_support(update, f"Local controller {controller_id}", features.ranges)
    for broker in image.brokers.values():
        if update.feature != KRAFT_VERSION or update.feature in broker.features:
            _check_support(update, f"Broker {broker.id}", broker.features)
    if update.feature not in features.ranges:
        raise _refusal(update, f"Feature {update.feature} not found.")
    if update.level < current and update.upgrade_type == UpgradeType.UPGRADE:
        raise _refusal(
            update,
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade.",
        )
    if update.level > current and update.upgrade_type != UpgradeType.UPGRADE:
        raise _refusal(update, "Can't downgrade to a newer version.")
    if update.feature == KRAFT_VERSION and update.level < current:
        raise _refusal(update, "Can't downgrade the version of this feature.")


def _check_support(update: FeatureUpdate, who: str, ranges: Mapping[str, tuple[int, int]]) -> None:
    low, high = ranges.get(update.feature, (0, 0))
    if low <= update.level <= high:
        return
    if high == 0:
        raise _refusal(update, f"{who} does not support this feature.")
    raise _refusal(update, f"{who} only supports versions {low}-{high}")


def _check_metadata_version(update: FeatureUpdate, current: int) -> None:
    if all(level in _SAME_RECORDS for level in range(update.level + 1, current + 1)):
        return
    reason = (
        "Unsafe metadata downgrade is not supported in this version."
        if update.upgrade_type == UpgradeType.UNSAFE_DOWNGRADE
        else "Refusing to perform the requested downgrade because it might delete metadata information."
    )
    raise KafkaError(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Unsupported metadata.version downgrade from {current} to {update.level}. {reason}",
    )


def _check_needs(update: FeatureUpdate, proposed: Mapping[str, int]) -> None:
    if update.level < 1:
        return
    metadata_version = proposed.get(METADATA_VERSION, 0)
    oldest, its_name = _OLDEST_NEEDED
    needed = _NEEDED_METADATA_VERSION.get(update.feature, oldest)
    if metadata_version < oldest:
        fault = f"metadata.version={oldest} ({its_name})"
    elif metadata_version < needed:
        fault = f"{METADATA_VERSION} level {needed}"
    else:
        return
    raise _refusal(update, f"{update.feature} could not be set to {update.level} because it depends on {fault}")


def _refusal(update: FeatureUpdate, reason: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Invalid update version {update.level} for feature {update.feature}. {reason}",
    )
