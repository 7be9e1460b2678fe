"""ApiVersions as a release answers it: its own APIs, and of the features what it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.releases.release import Release
    from pykbroker.security.context import RequestContext


def own_apis(
    release: Release,
    _broker: Broker,
    _ctx: RequestContext,
    _request: ApiVersionsRequest | None,
    response: ApiVersionsResponse,
) -> None:
    """An answer that lists APIs lists those of the release."""
    if response.api_keys:
        response.api_keys = [
            ApiVersion(api_key=int(api.key), min_version=api.listed_min, max_version=api.max_version)
            for api in release.table
        ]


def without_features(
    release: Release,
    broker: Broker,
    ctx: RequestContext,
    request: ApiVersionsRequest | None,
    response: ApiVersionsResponse,
) -> None:
    """And a cluster over ZooKeeper in which nobody finalized a feature has none."""
    own_apis(release, broker, ctx, request, response)
    response.supported_features, response.finalized_features = [], []
    response.finalized_features_epoch = 0 if request is not None else -1
