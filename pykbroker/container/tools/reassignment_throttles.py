"""Replication throttles of ``kafka-reassign-partitions``, removed when all moves are complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import raise_for
from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.printing import print_lines
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pykbroker.wire.messages.list_partition_reassignments import OngoingPartitionReassignment

_TOPIC, _BROKER = 2, 4  # types of resources
_SET, _DELETE = 0, 1
_LEADERS, _FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
_RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_LOG_DIR_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
Move = tuple[set[int], set[int]]
"""The brokers that have a partition, and those that get it."""


def moves(
    wanted: Mapping[TopicPartition, list[int]],
    current: Mapping[TopicPartition, list[int]],
    ongoing: Mapping[TopicPartition, OngoingPartitionReassignment],
) -> dict[TopicPartition, Move]:
    """Return ongoing moves, and those about to start."""
    found = {
        partition: (set(each.replicas) - set(each.adding_replicas), set(each.adding_replicas))
        for partition, each in ongoing.items()
    }
    for partition, brokers in wanted.items():
        sources = found[partition][0] if partition in found else set(current[partition])
        found[partition] = sources, set(brokers) - sources
    return found


def throttle_moves(client: Client, moving: Mapping[TopicPartition, Move], rate: int) -> None:
    """Limit replication between brokers, in bytes per second. Raises the KafkaError of the response."""
    for topic in sorted({partition.topic for partition in moving}):
        its = {partition.number: move for partition, move in moving.items() if partition.topic == topic}
        values = {
            _LEADERS: _replicas({number: sources for number, (sources, _) in its.items()}),
            _FOLLOWERS: _replicas({number: targets for number, (_, targets) in its.items()}),
        }
        _alter_topic(client, topic, values)
    for node in sorted({node for sources, targets in moving.values() for node in sources | targets}):
        _alter_broker(client, node, dict.fromkeys(_RATES, str(rate)))
    print_lines(f"The inter-broker throttle limit was set to {rate} B/s")


def throttle_log_dirs(client: Client, brokers: Iterable[int], rate: int) -> None:
    """Limit moves between log directories, in bytes per second. Raises the KafkaError of the response."""
    for node in sorted(set(brokers)):
        _alter_broker(client, node, {_LOG_DIR_RATE: str(rate)})
    print_lines(f"The replica-alter-dir throttle limit was set to {rate} B/s")


def clear_throttles(client: Client, wanted: Mapping[TopicPartition, list[int]]) -> None:
    """Remove the throttles of all brokers, since those involved are not known. Raises the KafkaError of the response."""
    brokers = sorted({*client.node_ids(), *(node for replicas in wanted.values() for node in replicas)})
    print_lines(f"Clearing broker-level throttles on broker{_s(brokers)} {','.join(map(str, brokers))}")
    for node in brokers:
        _alter_broker(client, node, dict.fromkeys((*_RATES, _LOG_DIR_RATE)))
    topics = sorted({partition.topic for partition in wanted})
    print_lines(f"Clearing topic-level throttles on topic{_s(topics)} {','.join(topics)}")
    for topic in topics:
        _alter_topic(client, topic, dict.fromkeys((_LEADERS, _FOLLOWERS)))


def _replicas(brokers: Mapping[int, set[int]]) -> str:
    return ",".join(sorted(f"{number}:{node}" for number, nodes in brokers.items() for node in nodes))


def _s(items: list[int] | list[str]) -> str:
    return "" if len(items) == 1 else "s"


def _alter_topic(client: Client, topic: str, values: Mapping[str, str | None]) -> None:
    """Alter a topic's settings; None deletes one. Raises the KafkaError of the response."""
    _alter(client.controller(), _TOPIC, topic, values)


def _alter_broker(client: Client, node: int, values: Mapping[str, str | None]) -> None:
    """Alter a broker's settings, which only that broker does. Raises the KafkaError of the response."""
    _alter(client.named_node(node), _BROKER, str(node), values)


def _alter(connection: BrokerConnection, kind: int, name: str, values: Mapping[str, str | None]) -> None:
    configs = [
        AlterableConfig(name=setting, config_operation=_DELETE if value is None else _SET, value=value)
        for setting, value in values.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    for answer in connection.call(request, IncrementalAlterConfigsResponse).responses:
        raise_for(answer.error_code, answer.error_message)
