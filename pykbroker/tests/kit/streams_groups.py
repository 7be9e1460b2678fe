"""A cluster in memory with a streams group, and members that do what the heartbeat's answers say."""

from __future__ import annotations

from typing import Any

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.groups.streams.tasks import Task, tasks_of
from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.simulation.clients.streams_member import counting, task_ids
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.streams_group_describe import DescribedGroup, StreamsGroupDescribeRequest
from pykbroker.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

STREAMS_GROUP = "counts"
INPUT = "words"
REPARTITION, CHANGELOG = f"{STREAMS_GROUP}-store-repartition", f"{STREAMS_GROUP}-store-changelog"


class StreamsCluster(MemoryCluster):
    """One broker with the input topic. The group assigns at once."""

    def __init__(self, *, partitions: int = 3, standbys: int = 0, **settings: str) -> None:
        super().__init__(1, **settings)
        self.create(NewTopic(INPUT, partitions, 1))
        self.configure("streams.initial.rebalance.delay.ms", "0")
        self.configure("streams.assignment.interval.ms", "0")
        self.configure("streams.num.standby.replicas", str(standbys))

    def configure(self, name: str, value: str) -> None:
        """Set a setting of the group."""
        config = AlterableConfig(name=name, config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=STREAMS_GROUP, configs=[config])
        answer = self.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert [each.error_code for each in answer.responses] == [0]

    def described(self) -> DescribedGroup:
        request = StreamsGroupDescribeRequest([STREAMS_GROUP])
        (group,) = self.ask(request, 1, broker=self.coordinator(STREAMS_GROUP)).groups
        return group

    def written(self) -> DescribedGroup:
        """The description without its topology, which has the partitions of topics only after a heartbeat."""
        group = self.described()
        group.topology = None
        return group

    def member_ids(self) -> set[str]:
        return {member.member_id for member in self.described().members}


class StreamsThread:
    """A member: it reports what it has, takes what it is assigned and gives up the rest at once."""

    def __init__(self, world: StreamsCluster, name: str, process: str | None = None) -> None:
        self.world = world
        self.name = name
        self.process = process or f"process of {name}"
        self.epoch = 0
        self.active: frozenset[Task] = frozenset()
        self.standby: frozenset[Task] = frozenset()

    def beat(self, **said: Any) -> StreamsGroupHeartbeatResponse:
        """A heartbeat, the first one to join; the answer is obeyed."""
        answer = self.ask(**{**self.reported(), **(self.joining() if self.epoch == 0 else {}), **said})
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
            if answer.active_tasks is not None:
                self.active, self.standby = tasks_of(answer.active_tasks), tasks_of(answer.standby_tasks)
        return answer

    def joining(self) -> dict[str, Any]:
        return {
            "rebalance_timeout_ms": 30_000,
            "topology": counting(INPUT, REPARTITION, CHANGELOG),
            "process_id": self.process,
            "client_tags": [],
        }

    def reported(self) -> dict[str, Any]:
        return {
            "active_tasks": task_ids(self.active),
            "standby_tasks": task_ids(self.standby),
            "warmup_tasks": [],
        }

    def ask(self, **fields: Any) -> StreamsGroupHeartbeatResponse:
        """A heartbeat with these fields; the answer is only returned."""
        fields = {"member_epoch": self.epoch, **fields}
        request = StreamsGroupHeartbeatRequest(STREAMS_GROUP, self.name, **fields)
        return self.world.ask(request, 1, broker=self.world.coordinator(STREAMS_GROUP))

    def lose_all(self) -> None:
        """It is fenced, or its process was killed: it has nothing any more and will join anew."""
        self.epoch = 0
        self.active = self.standby = frozenset()

    def leave(self) -> None:
        answer = self.ask(member_epoch=-1)
        assert answer.error_code in (0, ErrorCode.UNKNOWN_MEMBER_ID), answer
        self.lose_all()


def settle(*threads: StreamsThread) -> None:
    """Heartbeats of all until the group is stable."""
    for _ in range(30):
        for each in threads:
            answer = each.beat()
            assert answer.error_code == 0, answer
        if threads[0].world.described().group_state == "Stable":
            return
    raise AssertionError(threads[0].world.described())
