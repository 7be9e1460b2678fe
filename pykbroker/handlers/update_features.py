"""UpdateFeatures (key 57, versions 0 to 2): finalize other levels of features (KIP-584, KIP-778).

- All updates are made or none: the first that is refused gives the error.
- v0 can only raise levels (Kafka ignores ``allow_downgrade``). v1: ``upgrade_type``, ``validate_only``.
- Enabling eligible leader replicas writes min.insync.replicas as a cluster-wide setting (KIP-966).
- A result for each feature up to v1, with the message NONE; from v2 (KIP-1022) there are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.controller.eligible_leaders import MIN_ISR
from pykbroker.controller.feature_updates import FeatureUpdate
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError


def handle(broker: Broker, ctx: RequestContext, request: UpdateFeaturesRequest) -> Deferred[UpdateFeaturesResponse]:
    updates = [
        FeatureUpdate(asked.feature, asked.max_version_level, asked.upgrade_type) for asked in request.feature_updates
    ]

    def answer(_: None) -> UpdateFeaturesResponse:
        results = []
        if ctx.api_version <= 1:
            none = ErrorCode.NONE
            features = dict.fromkeys(update.feature for update in updates)
            results = [UpdatableFeatureResult(name, none, none.default_message) for name in features]
        return UpdateFeaturesResponse(error_message=None, results=results)

    updated = broker.controller.update_features(
        updates, static_min_isr=static_min_isr(broker), validate_only=request.validate_only
    )
    return updated.map(answer)


def static_min_isr(broker: Broker) -> int:
    """min.insync.replicas of the file, without dynamic changes."""
    value: int = broker.config.values_with({}, {})[MIN_ISR]
    return value


def failed(request: UpdateFeaturesRequest, version: int, error: KafkaError) -> UpdateFeaturesResponse:
    """The request as a whole is refused; no feature has changed."""
    del request, version
    return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)
