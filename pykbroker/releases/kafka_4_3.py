"""Kafka 4.3, verified against 4.3.1."""

from __future__ import annotations

from typing import Final

from pykbroker.handlers.table import SUPPORTED
from pykbroker.metadata.features import BOOTSTRAP_LEVELS, METADATA_VERSION, SUPPORTED_RANGES, Features
from pykbroker.releases.amendments import own_apis
from pykbroker.releases.kafka_4_3_settings import DEFINITIONS
from pykbroker.releases.release import Release
from pykbroker.wire.apis import ApiKey

#: What 4.4 added: APIs, and versions of others, which are at these in 4.3.
_LATER: Final = (ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, ApiKey.UNREGISTER_CONTROLLER)
_HIGHEST: Final = {
    ApiKey.API_VERSIONS: 4,
    ApiKey.TXN_OFFSET_COMMIT: 5,
    ApiKey.DELETE_GROUPS: 2,
    ApiKey.STREAMS_GROUP_HEARTBEAT: 0,
    ApiKey.STREAMS_GROUP_DESCRIBE: 0,
}
_SHARE_VERSION: Final = "share.version"
_LEVELS: Final = {METADATA_VERSION: 30, _SHARE_VERSION: 1}

_TABLE: Final = tuple(
    api._replace(max_version=_HIGHEST.get(api.key, api.max_version)) for api in SUPPORTED if api.key not in _LATER
)

RELEASE: Final = Release(
    name="4.3",
    table=_TABLE,
    definitions=DEFINITIONS,
    features=Features(
        bootstrap={name: min(level, _LEVELS.get(name, level)) for name, level in BOOTSTRAP_LEVELS.items()},
        ranges={name: (low, _LEVELS.get(name, high)) for name, (low, high) in SUPPORTED_RANGES.items()},
    ),
    amendments={ApiKey.API_VERSIONS: own_apis(_TABLE)},
)
