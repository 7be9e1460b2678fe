"""Moves replicas between log directories of their broker."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from pykbroker.client.client import Client
from pykbroker.client.log_dir_state import describe_log_dirs
from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.exceptions import exception
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.reassignment_plan import Replica
from pykbroker.container.tools.running import ToolError
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from pykbroker.wire.messages.describe_log_dirs import DescribableLogDirTopic

_PAUSE_S: Final = 0.1


@dataclass(frozen=True)
class ReplicaLogDirs:
    """The current and the future log directory of a replica; None: none."""

    current: str | None = None
    future: str | None = None

    def status(self, replica: Replica, wanted: str) -> str:
        """Return the progress of a move in the words of Kafka's command."""
        node, partition = replica
        on_broker = f"Partition {partition} on broker {node}"
        if self.current is None:
            return (
                f"Partition {partition} is not found in any live log dir on broker {node}. "
                "There is likely an offline log directory on the broker."
            )
        if self.future is None:
            if self.current == wanted:
                return f"Reassignment of replica {partition}-{node} completed successfully."
            return f"{on_broker} is not being moved from log dir {self.current} to {wanted}."
        if self.future == wanted:
            return f"Reassignment of replica {partition}-{node} is still in progress."
        return f"{on_broker} is being moved to log dir {self.future} instead of {wanted}."


def places(client: Client, replicas: Iterable[Replica]) -> dict[Replica, ReplicaLogDirs]:
    """Return the log directories of each replica. Raises the KafkaError of the response, and ClientError."""
    by_node: dict[int, list[TopicPartition]] = defaultdict(list)
    for node, partition in replicas:
        by_node[node].append(partition)
    found: dict[Replica, ReplicaLogDirs] = {}
    for node, partitions in by_node.items():
        wanted = [DescribableLogDirTopic(topic=name, partitions=them) for name, them in _by_topic(partitions)]
        current: dict[TopicPartition, str] = {}
        future: dict[TopicPartition, str] = {}
        for directory in client.retrying(partial(describe_log_dirs, client.named_node(node), wanted)):
            for topic in directory.topics:
                for each in topic.partitions:
                    where = future if each.is_future_key else current
                    where[TopicPartition(topic.name, each.partition_index)] = directory.log_dir
        found |= {(node, each): ReplicaLogDirs(current.get(each), future.get(each)) for each in partitions}
    return found


def move(client: Client, wanted: Mapping[Replica, str], timeout_ms: int) -> None:
    """Move replicas to these log directories; waits for replicas that their broker does not have yet.

    Raises ToolError and ClientError.
    """
    pending = dict(sorted(wanted.items()))
    end = client.clock.monotonic() + timeout_ms / 1000
    while True:
        for replica in _started(client, pending):
            node, partition = replica
            print_lines(
                f"Successfully started moving log directory to {pending.pop(replica)} for replica {partition} with broker {node} "
            )
        if not pending:
            return
        if client.clock.monotonic() >= end:
            names = ",".join(f"{partition}-{node}" for node, partition in pending)
            raise ToolError(
                f"Timed out before log directory move{'' if len(pending) == 1 else 's'} could be started for: {names}"
            )
        time.sleep(_PAUSE_S)


def _started(client: Client, wanted: Mapping[Replica, str]) -> list[Replica]:
    """Return the moves that were started."""
    by_node: dict[int, dict[str, list[TopicPartition]]] = defaultdict(lambda: defaultdict(list))
    for (node, partition), directory in wanted.items():
        by_node[node][directory].append(partition)
    started = []
    for node, directories in by_node.items():
        request = AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path=path,
                    topics=[
                        AlterReplicaLogDirTopic(name=name, partitions=them) for name, them in _by_topic(partitions)
                    ],
                )
                for path, partitions in directories.items()
            ]
        )
        answer = client.named_node(node).call(request, AlterReplicaLogDirsResponse)
        for topic in answer.results:
            for each in topic.partitions:
                partition = TopicPartition(topic.topic_name, each.partition_index)
                if not each.error_code:
                    started.append((node, partition))
                elif each.error_code != ErrorCode.REPLICA_NOT_AVAILABLE:
                    raise ToolError(f"Failed to alter dir for {partition}-{node}: {exception(each.error_code, None)}")
    return started


def _by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    grouped: dict[str, list[int]] = defaultdict(list)
    for topic, number in partitions:
        grouped[topic].append(number)
    return list(grouped.items())
