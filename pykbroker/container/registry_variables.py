"""Variables of Confluent's image of its schema registry, by which the broker's image serves one of its own.

(Source: docs.confluent.io, "Docker Configuration Parameters for Confluent Platform", Schema Registry: SCHEMA_REGISTRY_HOST_NAME is
schema.registry's host.name, in the way of Kafka's variables.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pykbroker.config.setting import ConfigError

_PREFIX: Final = "SCHEMA_REGISTRY_"
_OWN: Final = "PYKBROKER_SCHEMA_REGISTRY"
#: The listener of the broker whose TLS and users the registry has.
_LISTENER: Final = f"{_OWN}_LISTENER"
_LISTENERS: Final = f"{_PREFIX}LISTENERS"
_HOST_NAME: Final = f"{_PREFIX}HOST_NAME"
_TOPIC: Final = f"{_PREFIX}KAFKASTORE_TOPIC"
_ONLY_TOPIC: Final = "_schemas"
#: One of these says that a registry is wanted. Another of the prefix does not: Kubernetes sets SCHEMA_REGISTRY_PORT and its like in
#: all containers beside a service of that name.
_WANTED: Final = (_LISTENERS, _HOST_NAME, f"{_PREFIX}KAFKASTORE_BOOTSTRAP_SERVERS")
_LEVELS: Final = (f"{_PREFIX}SCHEMA_COMPATIBILITY_LEVEL", f"{_PREFIX}AVRO_COMPATIBILITY_LEVEL")
_ANY: Final = "0.0.0.0"  # noqa: S104 - clients come from outside the container
_ADDRESS: Final = f"{_ANY}:8081"
#: The broker is its own Kafka; a registry of one leads; its log is the broker's.
_NOTHING_TO_DO: Final = (
    *_WANTED, *_LEVELS, _TOPIC, f"{_PREFIX}KAFKASTORE_TOPIC_REPLICATION_FACTOR", f"{_PREFIX}DEBUG", f"{_PREFIX}GROUP_ID",
    f"{_PREFIX}LEADER_ELIGIBILITY", f"{_PREFIX}LOG4J_ROOT_LOGLEVEL", f"{_PREFIX}LOG4J_LOGGERS", f"{_PREFIX}HEAP_OPTS",
    f"{_PREFIX}KAFKASTORE_SECURITY_PROTOCOL",
)  # fmt: skip
_OF_KUBERNETES: Final = (f"{_PREFIX}PORT", f"{_PREFIX}SERVICE_")


def arguments(environment: Mapping[str, str]) -> list[str]:
    """Return options of ``pykbroker serve``; none without a registry. Raises ConfigError."""
    made: list[str] = []
    if address := _address(environment):
        made += ["--schema-registry", address]
    if listener := environment.get(_LISTENER):
        made += ["--schema-registry-listener", listener]
    if not _is_wanted(environment) or "://" in address:
        return made
    topic = environment.get(_TOPIC) or _ONLY_TOPIC
    if topic != _ONLY_TOPIC:
        raise ConfigError(f"{_TOPIC}={topic}: the broker's registry keeps its schemas in {_ONLY_TOPIC}")
    if name := environment.get(_HOST_NAME):
        made += ["--http-name", name]
    level = next(filter(None, map(environment.get, _LEVELS)), None)
    return made if level is None else [*made, "--schema-registry-compatibility", level.upper()]


def advice(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield what to tell of variables that have no effect, a sentence each."""
    if not _is_wanted(environment):
        return
    for name in sorted(environment):
        if name.startswith(_PREFIX) and name not in _NOTHING_TO_DO and not name.startswith(_OF_KUBERNETES):
            yield f"{name} has no effect on the broker's own registry: {_LISTENER} names a listener whose TLS and users it has"


def _is_wanted(environment: Mapping[str, str]) -> bool:
    return any(environment.get(each) for each in _WANTED)


def _address(environment: Mapping[str, str]) -> str:
    """``HOST:PORT`` of the broker's own, the URL of another, or nothing."""
    own = environment.get(_OWN, "")
    if own.isdecimal():
        return f"{_ANY}:{own}"
    if own or not _is_wanted(environment):
        return own
    listeners = environment.get(_LISTENERS, "")
    if not listeners:
        return _ADDRESS
    scheme, _, address = listeners.partition("://")
    wanted = "https" if environment.get(_LISTENER) else "http"
    if "," in listeners or scheme.strip().lower() != wanted or not address:
        raise ConfigError(
            f"{_LISTENERS}={listeners}: the broker's registry has one, as in http://{_ADDRESS}; https:// where {_LISTENER} names a "
            "listener of the broker with TLS"
        )
    host, _, port = address.strip().rpartition(":")
    return f"{host or _ANY}:{port}"
