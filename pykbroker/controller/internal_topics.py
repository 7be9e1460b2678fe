"""The settings of automatically created topics: the broker's defaults, or an internal topic's own.

Source: AutoTopicCreationManager and the coordinators' topic settings of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE


class Settings(Protocol):
    """The broker's settings, by Kafka's names."""

    def __getitem__(self, name: str, /) -> Any: ...


def topic_to_create(name: str, config: Settings) -> NewTopic:
    """The topic that the first use of ``name`` creates."""
    internal = _INTERNAL.get(name)
    return NewTopic(name) if internal is None else internal(config)


def _consumer_offsets(config: Settings) -> NewTopic:
    return NewTopic(
        CONSUMER_OFFSETS,
        config["offsets.topic.num.partitions"],
        config["offsets.topic.replication.factor"],
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config["offsets.topic.segment.bytes"]),
        },
    )


def _transaction_state(config: Settings) -> NewTopic:
    return NewTopic(
        TRANSACTION_STATE,
        config["transaction.state.log.num.partitions"],
        config["transaction.state.log.replication.factor"],
        configs={
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "unclean.leader.election.enable": "false",
            "min.insync.replicas": str(config["transaction.state.log.min.isr"]),
            "segment.bytes": str(config["transaction.state.log.segment.bytes"]),
        },
    )


def _share_group_state(config: Settings) -> NewTopic:
    return NewTopic(
        SHARE_GROUP_STATE,
        config["share.coordinator.state.topic.num.partitions"],
        config["share.coordinator.state.topic.replication.factor"],
        configs={
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": str(config["share.coordinator.state.topic.min.isr"]),
            "retention.ms": "-1",
            "segment.bytes": str(config["share.coordinator.state.topic.segment.bytes"]),
        },
    )


_INTERNAL: dict[str, Callable[[Settings], NewTopic]] = {
    CONSUMER_OFFSETS: _consumer_offsets,
    TRANSACTION_STATE: _transaction_state,
    SHARE_GROUP_STATE: _share_group_state,
}
