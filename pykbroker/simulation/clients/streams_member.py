"""A thread of a Kafka Streams application (KIP-1071), as its coordinator sees it: it takes the tasks that it is told, and gives up others
after a while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.streams.tasks import NO_TASKS, Tasks, by_subtopology, tasks_of
from pykbroker.simulation.clients.client import COORDINATOR_ERRORS, FENCED, GROUP, RETRY_MS, SimulatedClient
from pykbroker.simulation.clients.group_consumer import HEARTBEAT_MS, SESSION_MS
from pykbroker.simulation.history import TopicIds
from pykbroker.simulation.network import Disconnected
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.streams_group_heartbeat import (
    KeyValue,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

if TYPE_CHECKING:
    from pykbroker.simulation.history import History
    from pykbroker.simulation.process import Steps
    from pykbroker.simulation.world import World

_JOINING, _LEAVING = 0, -1
#: Long enough that nobody is thrown out for being slow to give something back.
_REBALANCE_MS = 120_000
#: One heartbeat of so many says all again.
_WHOLE_EVERY = 5
#: Tasks have no topic of their own.
_NO_IDS = TopicIds(None, None)


def counting(source: str, repartition: str, changelog: str) -> Topology:
    """Records of ``source`` are repartitioned and counted: tasks without state, and tasks with a changelog."""
    return Topology(
        0,
        [
            Subtopology("0", [source], repartition_sink_topics=[repartition]),
            Subtopology(
                "1",
                repartition_source_topics=[TopicInfo(repartition, topic_configs=[KeyValue("retention.ms", "-1")])],
                state_changelog_topics=[TopicInfo(changelog, topic_configs=[KeyValue("cleanup.policy", "compact")])],
            ),
        ],
    )


class StreamsClient(SimulatedClient):
    """See the module. ``active`` and ``standby`` are the tasks that it has."""

    instance_id: str | None = None
    rebalancing = False

    def __init__(self, world: World, history: History, name: str, group: str, source: str, process: str) -> None:
        super().__init__(world, history, name)
        self.leaving = False
        self.active: Tasks = NO_TASKS
        self.standby: Tasks = NO_TASKS
        self._group = group
        self._topology = counting(source, f"{group}-repartition", f"{group}-changelog")
        self._process = process
        self._member_id = f"{name}-{self.random.getrandbits(64):x}"
        self._epoch = _JOINING
        self._says_all = True
        self._last_heartbeat_ms = -SESSION_MS
        self.spawn(self._run())

    def holds_still(self, now_ms: int) -> bool:
        """Whether the coordinator cannot have given its tasks to another."""
        return now_ms - self._last_heartbeat_ms < SESSION_MS

    def _run(self) -> Steps[None]:
        while not self.leaving:
            sent_ms = self.world.now_ms
            try:
                answer = yield from self.ask_coordinator(GROUP, self._group, self._heartbeat(), 1)
            except Disconnected:  # the answer may have had its tasks, and only who joins is told those again
                self._epoch = _JOINING
                self._have(NO_TASKS, NO_TASKS)
                yield from self.pause(RETRY_MS)
                continue
            if answer.error_code == ErrorCode.NONE:
                self._last_heartbeat_ms = sent_ms
            yield from self._on_answer(answer)
        self._have(NO_TASKS, NO_TASKS)
        try:
            request = StreamsGroupHeartbeatRequest(self._group, self._member_id, _LEAVING)
            yield from self.ask_coordinator(GROUP, self._group, request, 1)
        except Disconnected:
            self.history.count("streams member left unheard")

    def _heartbeat(self) -> StreamsGroupHeartbeatRequest:
        """All of it, or nothing that is not new."""
        request = StreamsGroupHeartbeatRequest(self._group, self._member_id, self._epoch)
        if self._epoch == _JOINING:
            request.topology, request.process_id, request.client_tags = self._topology, self._process, []
        if self._epoch == _JOINING or self._says_all or self.random.randrange(_WHOLE_EVERY) == 0:
            request.rebalance_timeout_ms = _REBALANCE_MS
            request.active_tasks = task_ids(self.active)
            request.standby_tasks = task_ids(self.standby)
            request.warmup_tasks = []
        self._says_all = False
        return request

    def _on_answer(self, answer: StreamsGroupHeartbeatResponse) -> Steps[None]:
        code = ErrorCode(answer.error_code)
        if code is not ErrorCode.NONE:
            if code in FENCED:
                self.history.count("streams member fenced")
                self._epoch = _JOINING
                self._have(NO_TASKS, NO_TASKS)
            elif code in COORDINATOR_ERRORS:
                self.forget_coordinator(GROUP, self._group)
            self._says_all = True
            yield from self.pause(RETRY_MS)
            return
        self._epoch = answer.member_epoch
        if answer.active_tasks is None:
            yield from self.pause(HEARTBEAT_MS)
            return
        active, standby = tasks_of(answer.active_tasks), tasks_of(answer.standby_tasks or ())
        if active & standby:
            self.history.wrong(f"{self.name} has {active & standby} actively, and stands by for them")
        if active != self.active:
            self.history.count("streams assignment")
        yield from self.pause(self.random.randint(0, 300))  # what is to be given up is closed first
        self._have(active, standby)
        self._says_all = True

    def _have(self, active: Tasks, standby: Tasks) -> None:
        for task in sorted(self.active - active):
            self.history.released(self._group, task, self)
        for task in sorted(active - self.active):
            self.history.taken(self._group, task, self, self.world.now_ms, _NO_IDS)
        self.active, self.standby = active, standby


def task_ids(tasks: Tasks) -> list[TaskIds]:
    """Tasks as heartbeats name them."""
    return [TaskIds(*each) for each in by_subtopology(tasks)]
