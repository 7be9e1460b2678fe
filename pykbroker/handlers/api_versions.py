"""ApiVersions (key 18), versions 0 to 5; later ones are answered UNSUPPORTED_VERSION in version 0 (KIP-511).

The answer is computed from ``SUPPORTED`` in ``table.py``; the APIs of client telemetry are listed while there are subscriptions. From version 3 the client's software name and version are validated,
and supported and finalized features (KIP-584) are listed; features whose lowest level is 0 are listed from version 4. From version 5 the request may name the cluster and the broker that
the client expects: a client that reached another one is told to begin anew from its bootstrap servers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pykbroker.handlers.table import SUPPORTED
from pykbroker.metadata.features import KRAFT_VERSION
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.security.context import RequestContext

#: What a request names that expects no cluster and no broker.
_NOBODY = (None, -1)
_TELEMETRY = (ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY)
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(broker: Broker, ctx: RequestContext, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
    if request is None:
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_api_keys(broker.metadata.image))
    if ctx.api_version >= 3:
        if not _is_valid(ctx.api_version, request):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        if ctx.connection is not None:
            ctx.connection.client_software = (request.client_software_name, request.client_software_version)
    image = broker.metadata.image
    expected = (request.cluster_id, request.node_id)
    if expected not in (_NOBODY, (image.cluster_id, broker.node_id)):
        return ApiVersionsResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    levels = {**image.features, KRAFT_VERSION: image.kraft_version}
    return ApiVersionsResponse(
        api_keys=_api_keys(image),
        supported_features=[
            SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in broker.features.ranges.items()
            if low > 0 or ctx.api_version >= 4
        ],
        finalized_features_epoch=image.offset,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in levels.items()
            if level > 0
        ],
    )


def failed(request: ApiVersionsRequest, version: int, error: KafkaError) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=error.code)


def is_good(version: int, frame: memoryview, at: int) -> bool:
    """Whether a request in a supported version, whose body begins at ``at`` in ``frame``, is answered without an error.
    Raises WireError if it is malformed.
    """
    request, _ = ApiVersionsRequest.decode(frame, at, version)
    return version < 3 or _is_valid(version, request)


def _is_valid(version: int, request: ApiVersionsRequest) -> bool:
    if version >= 5 and (request.cluster_id is None) != (request.node_id == -1):
        return False
    return all(map(_SOFTWARE.fullmatch, (request.client_software_name, request.client_software_version)))


def _api_keys(image: MetadataImage) -> list[ApiVersion]:
    return [
        ApiVersion(api_key=int(api.key), min_version=api.listed_min, max_version=api.max_version)
        for api in SUPPORTED
        if is_listed(api.key, image)
    ]


def is_listed(key: ApiKey, image: MetadataImage) -> bool:
    """Whether a served API is listed: those of client telemetry are while there are subscriptions, so that clients do not ask for nothing."""
    return bool(image.client_metrics) or key not in _TELEMETRY
