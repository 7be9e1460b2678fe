"""UpdateFeatures before KIP-1022: each update of a request succeeds or fails by itself, with its own result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pykbroker.controller.feature_updates import FeatureUpdate, UpgradeType
from pykbroker.handlers.update_features import static_min_isr
from pykbroker.runtime.waits import Deferred, gather
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.security.context import RequestContext

_FOR_ALL: Final = "The update failed for all features since the following feature had an error: "


def one_by_one(
    broker: Broker, _ctx: RequestContext, request: UpdateFeaturesRequest, _proceed: Callable[[], Answer], /
) -> Answer:
    """Return the amendment for KRaft until 3.9."""
    requested = {update.feature: update for update in request.feature_updates}
    results = [_updated(broker, update, validate_only=request.validate_only) for update in requested.values()]
    return gather(results).map(lambda found: UpdateFeaturesResponse(results=found))


def _updated(broker: Broker, requested: FeatureUpdateKey, *, validate_only: bool) -> Deferred[UpdatableFeatureResult]:
    name, level = requested.feature, requested.max_version_level
    known = name in broker.features.ranges
    if level == 0 and not known and requested.upgrade_type in set(UpgradeType):  # already at that level
        return Deferred.completed(UpdatableFeatureResult(name, ErrorCode.NONE, None))
    updated = broker.controller.update_features(
        [FeatureUpdate(name, level, requested.upgrade_type)],
        static_min_isr=static_min_isr(broker),
        validate_only=validate_only,
    )
    good = updated.map(lambda _: UpdatableFeatureResult(name, ErrorCode.NONE, None))
    return good.recover(KafkaError, lambda error: UpdatableFeatureResult(name, error.code, _own_words(error)))


def _own_words(error: KafkaError) -> str:
    return (error.message or "").removeprefix(_FOR_ALL)


def none_is_supported(
    _broker: Broker, _ctx: RequestContext, request: UpdateFeaturesRequest, _proceed: Callable[[], Answer], /
) -> Answer:
    """Return the amendment for 2.8 over ZooKeeper, which supports no features."""
    requested = {update.feature: update for update in request.feature_updates}
    refused = [
        UpdatableFeatureResult(name, ErrorCode.INVALID_REQUEST, _refusal(update)) for name, update in requested.items()
    ]
    return UpdateFeaturesResponse(error_message=None, results=refused)


def _refusal(update: FeatureUpdateKey) -> str:
    if not update.feature:
        return "Feature name can not be empty."
    if update.max_version_level >= 1:
        return "Could not apply finalized feature update because the provided feature is not supported."
    if update.allow_downgrade:
        return "Can not delete non-existing finalized feature."
    return (
        f"Can not provide maxVersionLevel: {update.max_version_level} less than 1 without setting the allowDowngrade "
        "flag to true in the request."
    )
