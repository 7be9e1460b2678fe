"""Topic names: which are valid, which collide in Kafka's metrics, and which are internal.

Rules and messages: org.apache.kafka.common.internals.Topic of Kafka 4.4.0.
"""

from __future__ import annotations

import re

from pykbroker.wire.errors import ErrorCode, KafkaError

CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
CLUSTER_METADATA = "__cluster_metadata"

INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})

MAX_NAME_LENGTH = 249

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def name_fault(name: str) -> str | None:
    """Why a topic cannot have this name, in Kafka's words; None if it can."""
    if not name:
        return "the empty string is not allowed"
    if name in {".", ".."}:
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if _LEGAL.fullmatch(name) is None:
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def is_valid_topic_name(name: str) -> bool:
    """True if a topic may have this name, which is then safe as part of a directory name, too."""
    return name_fault(name) is None


def validate_topic_name(name: str) -> None:
    """Raise KafkaError INVALID_TOPIC_EXCEPTION unless a topic may have this name."""
    fault = name_fault(name)
    if fault is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {fault}")


def is_internal(name: str) -> bool:
    """True for the topics in which brokers keep their own state."""
    return name in INTERNAL_TOPICS


def collision_key(name: str) -> str | None:
    """The name with '.' replaced by '_', equal for names that collide; None for a name with neither.

    Kafka's metrics replace '.' by '_', so it refuses a topic whose name collides.
    """
    if "." in name or "_" in name:
        return name.replace(".", "_")
    return None
