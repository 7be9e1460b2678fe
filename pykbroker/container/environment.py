"""Settings in environment variables, named as in Apache Kafka's image.

``KAFKA_LOG_RETENTION_HOURS`` is log.retention.hours: without the prefix, in lower case, ``_`` for a dot, ``__`` for
``_`` and ``___`` for ``-``. (Source: KafkaDockerWrapper of Kafka 4.4.0.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PREFIX: Final = "KAFKA_"
#: Variables of Kafka's scripts and of the JVM, which are not settings.
NO_SETTINGS: Final = frozenset(
    {
        "KAFKA_VERSION",
        "KAFKA_HEAP_OPTS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_OPTS",
        "KAFKA_JMX_OPTS",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_JMX_HOSTNAME",
        "KAFKA_JMX_PORT",
    }
)


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in the environment, sorted by name. The broker warns of unknown ones."""
    return {
        setting(name): value
        for name, value in sorted(environment.items())
        if name.startswith(PREFIX) and name not in NO_SETTINGS
    }


def setting(variable: str) -> str:
    """Return the setting of a variable."""
    words = variable.replace(PREFIX, "").lower().replace("_", ".")
    return words.replace("...", "-").replace("..", "_")
