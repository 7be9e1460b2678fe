"""What the controller is told of the log directories in which one broker's replicas lie (KIP-858): it elects no replica of a directory that has
failed. The rules are those of Kafka's AssignmentsManager.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from pykbroker.replication.altering import Altering, AlterRequest
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.wire.errors import KafkaError, error_code
from pykbroker.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
    AssignReplicasToDirsResponse,
)
from pykbroker.wire.primitives import uuid_to_str

if TYPE_CHECKING:
    from pykbroker.runtime.runtime import Runtime

log = logging.getLogger(__name__)

AssignReplicasToDirs = Callable[[AssignReplicasToDirsRequest], Deferred[AssignReplicasToDirsResponse]]
#: The most replicas of a request: controllers refuse changes of too many records.
_MOST = 2250
#: The pause before what was refused as a whole, or not answered, goes again; it doubles up to the longest.
_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 100, 10_000
#: A partition, by the id of its topic.
Replica = tuple[bytes, int]


class DirectoryAssignments:
    """Those of a broker from its registration with ``epoch`` until ``end``."""

    def __init__(self, node_id: int, epoch: int, runtime: Runtime, assign: AssignReplicasToDirs) -> None:
        self._node_id = node_id
        self._epoch = epoch
        self._runtime = runtime
        self._assign = assign
        self._wanted: Altering[Replica, bytes] = Altering(_MOST)
        self._pause_ms = _FIRST_PAUSE_MS
        self._ended = False

    def want(self, topic_id: bytes, index: int, directory: bytes) -> None:
        """Have the controller note that a replica lies in the log directory with the id ``directory``."""
        self._wanted.submit((topic_id, index), directory)
        self._runtime.wake_queue.add(self._send)

    def end(self) -> None:
        """Tell nothing more."""
        self._ended = True

    def _send(self) -> None:
        request = None if self._ended else self._wanted.next_request()
        if request is not None:
            asked = attempt(self._assign, AssignReplicasToDirsRequest(self._node_id, self._epoch, _grouped(request)))
            asked.fold(lambda done: self._answered(request, done)).or_log("assigning replicas to log directories")

    def _answered(self, request: AlterRequest[Replica, bytes], done: Deferred[AssignReplicasToDirsResponse]) -> None:
        if done.error is None and not done.value.error_code:
            answered = self._wanted.answered(request.number, _codes(done.value))
            for (topic_id, index), _, code in answered:
                if code:
                    name = error_code(code).name
                    log.warning(
                        "Log directory of partition %d of %s not assigned: %s", index, uuid_to_str(topic_id), name
                    )
            if answered:
                self._pause_ms = _FIRST_PAUSE_MS
                self._runtime.wake_queue.add(self._send)
                return
        elif done.error is not None and not isinstance(done.error, KafkaError):
            log.error("AssignReplicasToDirs failed", exc_info=done.error)
        self._wanted.failed(request.number)
        self._runtime.timers.after(self._pause_ms, self._send)
        self._pause_ms = min(2 * self._pause_ms, _LONGEST_PAUSE_MS)


def _codes(response: AssignReplicasToDirsResponse) -> dict[Replica, int]:
    return {
        (topic.topic_id, partition.partition_index): partition.error_code
        for directory in response.directories
        for topic in directory.topics
        for partition in topic.partitions
    }


def _grouped(request: AlterRequest[Replica, bytes]) -> list[AssignReplicasToDirsRequestDirectoryData]:
    """The replicas of a request by log directory and topic."""
    topics: dict[tuple[bytes, bytes], AssignReplicasToDirsRequestTopicData] = {}
    directories: dict[bytes, AssignReplicasToDirsRequestDirectoryData] = {}
    for (topic_id, index), directory in request.changes.items():
        topic = topics.get((directory, topic_id))
        if topic is None:
            topic = topics[directory, topic_id] = AssignReplicasToDirsRequestTopicData(topic_id, [])
            if directory not in directories:
                directories[directory] = AssignReplicasToDirsRequestDirectoryData(directory, [])
            directories[directory].topics.append(topic)
        topic.partitions.append(AssignReplicasToDirsRequestPartitionData(index))
    return list(directories.values())
