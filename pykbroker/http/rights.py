"""What each act over HTTP requires of the authorizer, in one table: the rights of the same act by Kafka's protocol.

A subject of the schema registry has the rights of the topic that it is named for, as Confluent's topic authorizer maps them.

Acts that Kafka lacks change what all clients have (faults, brokers, clock, reset, snapshots): they require Alter on the
cluster, with which access lists can be changed, too. What shows the requests or the metadata of everybody requires
ClusterAction, as a broker has it. The routers ask before a handler is called, by ``principal.py``; a test walks every route.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from pykbroker.security.operations import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    READ,
    WRITE,
)
from pykbroker.security.resources import CLUSTER, GROUP, TOPIC, TRANSACTIONAL_ID

#: In place of a parameter: each resource that is shown or changed, which the handler asks for; any resource of the type.
EACH: Final = "*each"
ANY: Final = "*any"
#: In place of a type: that of the parameter ``of``.
BY_KIND: Final = -1


class Right(NamedTuple):
    """An operation on a resource: the cluster, or the one that the parameter ``name`` names.

    ``or_cluster``: the operation on the cluster suffices, too.
    """

    operation: int
    resource_type: int = CLUSTER
    name: str = ""
    or_cluster: bool = False


Table = Mapping[str, tuple[Right, ...]]

_SEE: Final = (Right(DESCRIBE),)
_CHANGE: Final = (Right(ALTER),)
_SEE_ALL: Final = (Right(CLUSTER_ACTION),)

#: Below ``/api/v1``, by the name of the route.
API: Final[Table] = {
    "listFaults": _SEE,
    "addFault": _CHANGE,
    "clearFaults": _CHANGE,
    "getFault": _SEE,
    "removeFault": _CHANGE,
    "getChaos": _SEE_ALL,
    "beginChaos": _CHANGE,
    "endChaos": _CHANGE,
    "listBrokers": _SEE,
    "stopBroker": _CHANGE,
    "killBroker": _CHANGE,
    "startBroker": _CHANGE,
    "getClock": _SEE,
    "advanceClock": _CHANGE,
    "reset": _CHANGE,
    "listSnapshots": _SEE,
    "keepSnapshot": _CHANGE,
    "restoreSnapshot": _CHANGE,
    "loadSeed": (Right(CREATE, TOPIC, EACH, or_cluster=True), Right(WRITE, TOPIC, EACH)),
    "dumpSeed": (Right(READ, TOPIC, EACH), Right(DESCRIBE_CONFIGS, TOPIC, EACH)),
    "listRequests": _SEE_ALL,
    "forgetRequests": _SEE_ALL,
    "recordRequests": _SEE_ALL,
    "listLoggers": (Right(DESCRIBE_CONFIGS),),
    "setLevel": (Right(ALTER_CONFIGS),),
}

_TOPIC: Final = (Right(DESCRIBE, TOPIC, "topic"),)
_RECORDS: Final = (Right(READ, TOPIC, "topic"),)

#: Below ``/console/api``, by path.
CONSOLE: Final[Table] = {
    "/overview": _SEE,
    "/brokers": _SEE,
    "/topics": (Right(DESCRIBE, TOPIC, EACH),),
    "/topic": _TOPIC,
    "/partitions": _TOPIC,
    "/records": _RECORDS,
    "/record": _RECORDS,
    "/tail": _RECORDS,
    "/groups": (Right(DESCRIBE, GROUP, EACH),),
    "/group": (Right(DESCRIBE, GROUP, "group"),),
    "/clients": _SEE,
    "/client": _SEE,
    "/transactions": (Right(DESCRIBE, TRANSACTIONAL_ID, EACH),),
    "/settings": (Right(DESCRIBE_CONFIGS, BY_KIND, "name"),),
    "/acls": _SEE,
    "/quotas": (Right(DESCRIBE_CONFIGS),),
    "/metadata": _SEE_ALL,
    "/schema": (Right(READ, TOPIC, ANY),),
    "/subjects": (Right(READ, TOPIC, ANY),),
    "/subject": (Right(READ, TOPIC, ANY),),
    "/version": (Right(READ, TOPIC, ANY),),
    "/pulse": _SEE,
    "/topics/create": (Right(CREATE, TOPIC, "topic", or_cluster=True),),
    "/topics/delete": (Right(DELETE, TOPIC, "topic"),),
    "/topics/partitions": (Right(ALTER, TOPIC, "topic"),),
    "/topics/empty": (Right(DELETE, TOPIC, "topic"),),
    "/records/produce": (Right(WRITE, TOPIC, "topic"),),
    "/groups/delete": (Right(DELETE, GROUP, "group"),),
    "/groups/reset": (Right(READ, GROUP, "group"), Right(READ, TOPIC, "topic")),
    "/transactions/abort": (Right(WRITE, TRANSACTIONAL_ID, "id"),),
    "/settings/alter": (Right(ALTER_CONFIGS, BY_KIND, "name"),),
    "/acls/add": _CHANGE,
    "/acls/remove": _CHANGE,
    "/quotas/alter": (Right(ALTER_CONFIGS),),
}

_READ_SUBJECT: Final = (Right(READ, TOPIC, "subject"),)
_WRITE_SUBJECT: Final = (Right(WRITE, TOPIC, "subject"),)
_OF_READABLE: Final = (Right(READ, TOPIC, EACH),)
_SEE_SETTINGS: Final = (Right(DESCRIBE_CONFIGS),)
_CHANGE_SETTINGS: Final = (Right(ALTER_CONFIGS),)
_NOTHING: Final = ()

#: Of the schema registry, by method and path. Operations: those of Confluent's description of its authorization.
REGISTRY: Final[Table] = {
    "GET /": _NOTHING,
    "POST /": _NOTHING,
    "GET /schemas": _OF_READABLE,
    "GET /schemas/types": _NOTHING,
    "GET /schemas/ids/{id}": _OF_READABLE,
    "GET /schemas/ids/{id}/schema": _OF_READABLE,
    "GET /schemas/ids/{id}/subjects": _OF_READABLE,
    "GET /schemas/ids/{id}/versions": _OF_READABLE,
    "GET /schemas/guids/{guid}": _OF_READABLE,
    "GET /schemas/guids/{guid}/ids": _OF_READABLE,
    "GET /subjects": _OF_READABLE,
    "POST /subjects/{subject}": _READ_SUBJECT,
    "DELETE /subjects/{subject}": _WRITE_SUBJECT,
    "GET /subjects/{subject}/metadata": _READ_SUBJECT,
    "GET /subjects/{subject}/versions": _READ_SUBJECT,
    "POST /subjects/{subject}/versions": _WRITE_SUBJECT,
    "GET /subjects/{subject}/versions/{version}": _READ_SUBJECT,
    "DELETE /subjects/{subject}/versions/{version}": _WRITE_SUBJECT,
    "GET /subjects/{subject}/versions/{version}/schema": _READ_SUBJECT,
    "GET /subjects/{subject}/versions/{version}/referencedby": _READ_SUBJECT,
    "POST /compatibility/subjects/{subject}/versions": _WRITE_SUBJECT,
    "POST /compatibility/subjects/{subject}/versions/{version}": _WRITE_SUBJECT,
    "GET /config": _SEE_SETTINGS,
    "PUT /config": _CHANGE_SETTINGS,
    "DELETE /config": _CHANGE_SETTINGS,
    "GET /config/{subject}": _READ_SUBJECT,
    "PUT /config/{subject}": _WRITE_SUBJECT,
    "DELETE /config/{subject}": _WRITE_SUBJECT,
    "GET /mode": _SEE_SETTINGS,
    "PUT /mode": _CHANGE_SETTINGS,
    "DELETE /mode": _CHANGE_SETTINGS,
    "GET /mode/{subject}": _READ_SUBJECT,
    "PUT /mode/{subject}": _WRITE_SUBJECT,
    "DELETE /mode/{subject}": _WRITE_SUBJECT,
    "GET /contexts": _SEE,
    "DELETE /contexts/{context}": _CHANGE,
    "GET /v1/metadata/id": _NOTHING,
    "GET /v1/metadata/version": _NOTHING,
    "POST /apis/registry/v2/groups/default/artifacts/{subject}": _WRITE_SUBJECT,
    "POST /apis/registry/v2/groups/default/artifacts/{subject}/meta": _READ_SUBJECT,
    "GET /apis/registry/v2/groups/default/artifacts/{subject}/meta": _READ_SUBJECT,
    "GET /apis/registry/v2/groups/default/artifacts/{subject}/versions/{version}/meta": _READ_SUBJECT,
    "GET /apis/registry/v2/ids/globalIds/{id}": _OF_READABLE,
    "GET /apis/registry/v2/ids/globalIds/{id}/references": _OF_READABLE,
    "GET /apis/registry/v2/ids/contentIds/{id}": _OF_READABLE,
    "GET /apis/registry/v2/ids/contentIds/{id}/references": _OF_READABLE,
}


def registry_rights(method: str, path: str, *, of_all: bool) -> tuple[Right, ...]:
    """The rights of an act in the registry. With ``of_all`` its subject stands for all of a context: as without a subject."""
    own = f"{method} {path}"
    return REGISTRY.get(own.removesuffix("/{subject}"), REGISTRY[own]) if of_all else REGISTRY[own]
