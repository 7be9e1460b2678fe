"""The documentation of each setting, one sentence. Imported on request (DescribeConfigs with documentation)."""

from __future__ import annotations

from typing import Final

from pykbroker.config.documentation.coordinators import COORDINATORS
from pykbroker.config.documentation.groups import CLIENT_METRICS, GROUPS
from pykbroker.config.documentation.logs import LOGS
from pykbroker.config.documentation.quorum import QUORUM
from pykbroker.config.documentation.remote_storage import REMOTE_STORAGE
from pykbroker.config.documentation.security import SECURITY
from pykbroker.config.documentation.server import SERVER
from pykbroker.config.documentation.topics import TOPICS
from pykbroker.metadata.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE

_SENTENCES: Final = {
    TOPIC_RESOURCE: TOPICS,
    BROKER_RESOURCE: {**SERVER, **LOGS, **COORDINATORS, **QUORUM, **SECURITY, **REMOTE_STORAGE},
    GROUP_RESOURCE: GROUPS,
    CLIENT_METRICS_RESOURCE: CLIENT_METRICS,
}


def documentation(resource_type: int, name: str) -> str | None:
    """The sentence on a setting of a resource of this type; None where there is none."""
    return _SENTENCES[resource_type].get(name)
