"""The brokers of a world: the real process, on the world's network, disk, clock and chance."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pykbroker.config.broker import BrokerConfig
from pykbroker.controller.topics import NewTopic
from pykbroker.process.node import Node
from pykbroker.runtime.waits import Deferred
from pykbroker.testing import groups, records
from pykbroker.testing.origins import origins, topic_names
from pykbroker.testing.settings import as_text, texts
from pykbroker.worlds.disk import SimulatedDisk
from pykbroker.worlds.hosts import RESTART_S, Moment, Process
from pykbroker.worlds.loop import HostLoop
from pykbroker.worlds.simulator import Host
from pykbroker.worlds.tape import magnitude

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.faults.chaos import Chaos
    from pykbroker.faults.chaos_tape import Decision
    from pykbroker.process.cleaner import Order
    from pykbroker.seeding.seed import Seed
    from pykbroker.steered.request_log import RequestLog
    from pykbroker.storage.compaction.cleaning import CleaningResult
    from pykbroker.testing.records import Bytes, Headers, Record
    from pykbroker.worlds.network import Network
    from pykbroker.worlds.simulator import Simulator

T = TypeVar("T")

#: What a thread needs for its work: usually, and at the most.
_THREAD_S: Final = 0.0003
_LONGEST_THREAD_S: Final = 0.5
_SLOW_THREADS: Final = 0.05
_FIRST_PORT: Final = 9092
#: The latest operation of the disk that is drawn for the loss of power.
_LATEST_OPERATION: Final = 1000


class _HostClock:
    """The clock of a host."""

    def __init__(self, simulator: Simulator, host: Host) -> None:
        self._simulator = simulator
        self._host = host
        self._ahead_ms = 0

    def now_ms(self) -> int:
        return int(self._simulator.wall(self._host) * 1000) + self._ahead_ms

    def monotonic(self) -> float:
        return self._simulator.monotonic

    def step_to(self, ahead_ms: int) -> None:
        self._ahead_ms = ahead_ms


class _InlineCleaner:
    """Compacts on the world's disk."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self._disk = disk

    def run(self, order: Order) -> CleaningResult:
        from pykbroker.storage.compaction.cleaning import clean

        return clean(order.job, self._disk)

    def stop(self) -> None:
        """A compaction is over with its call."""


class _Machine:
    """The machine of the brokers."""

    def __init__(self, disk: SimulatedDisk, rng: Random) -> None:
        self.disk = disk
        self.random = rng
        self.cleaner = _InlineCleaner(disk)


class _BrokerLoop(HostLoop):
    """The loop of the brokers' process: what goes to a thread is done a moment later."""

    def __init__(self, host: Host, network: Network) -> None:
        super().__init__(host, network)
        self._slow = host.simulator.tape.stream(f"{host.name} threads slow", _SLOW_THREADS)

    def run_in_executor(  # type: ignore[override]  # as HostLoop's
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        done = self.create_future()

        def work() -> None:
            if done.done():
                return
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - it belongs to who waits
                done.set_exception(error)
            else:
                done.set_result(result)

        slow = self._slow.choose()
        seconds = magnitude(slow, _THREAD_S, _LONGEST_THREAD_S) if slow else _THREAD_S
        self._host.simulator.after(seconds, self._host.call, asyncio.Handle(work, (), self, None))
        return done


class WorldKafka(Process):
    """Brokers of one cluster, in one process with one disk. Its methods are for the test, at any moment of a world."""

    def __init__(
        self,
        simulator: Simulator,
        network: Network,
        name: str,
        brokers: int,
        settings: Mapping[str, object],
        seed: Seed | None,
        chaos: Chaos | None = None,
    ) -> None:
        super().__init__(simulator, network, name)
        if brokers < 1:
            raise ValueError(f"brokers is {brokers}; write 1 or more")
        self._count = brokers
        self._settings = {
            **texts(settings, {}, host=name, port=_FIRST_PORT),
            "log.dirs": "/kafka",
            "metadata.log.dir": "/kafka",
        }
        self._seed = seed
        self.disk = SimulatedDisk()
        self._random = simulator.tape.randomness(name)
        self._node: Node | None = None
        self._lost_power = False
        self._chaos = chaos
        #: How often a thing has befallen by chaos, by its words.
        self._befell: Counter[str] = Counter()
        #: Called with each dispatcher before it answers, to watch requests.
        self.watch: Callable[[Node], None] | None = None
        #: In a recorded life, what clients have asked of late.
        self.requests: RequestLog | None = None

    def __repr__(self) -> str:
        return f"<Kafka {self.bootstrap_servers}>"

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of every broker."""
        return ",".join(f"{self.name}:{_FIRST_PORT + each}" for each in range(self._count))

    @property
    def is_ready(self) -> bool:
        """Whether the process runs and accepts clients."""
        return self.present is not None and self._node is not None and self._node.current is not None

    @property
    def cluster(self) -> Cluster:
        """The cluster, to be looked at. Raises RuntimeError while the process does not run."""
        if self._node is None or self.present is None or self._node.current is None:
            raise RuntimeError(f"{self.name} does not run at this moment")
        return self._node.current

    # ---- its life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the brokers on what the disk holds; returns when clients are accepted."""
        await self._call_in(self.begin_life(_BrokerLoop), self._start())

    async def _start(self) -> None:
        assert self.present is not None
        node = Node(
            BrokerConfig(self._settings),
            self._count,
            machine=_Machine(self.disk, self._random),
            clock=_HostClock(self.simulator, self.present),
        )
        if self.watch is not None:
            self.watch(node)
        await node.start(None if self._seed is None else self._load_seed)
        self._node = node
        if self._chaos is not None:
            from pykbroker.steered.chaos import ChaosControl

            ChaosControl(node, self._permits).begin_each_life_with(self._chaos)

    def _permits(self, decision: Decision) -> bool:
        """Whether something befalls that chaos has drawn: a choice of the world's, which shrinking leaves out, and a calm life does."""
        words = f"{self.name}: {decision}"
        self._befell[words] += 1
        which = f", time {self._befell[words]}" if self._befell[words] > 1 else ""
        befalls = bool(self.simulator.tape.pick(f"{words}{which}", lambda _: 1))
        if befalls:
            self.simulator.note(self.name, "chaos", str(decision))
        return befalls

    def _load_seed(self, cluster: Cluster) -> Deferred[None]:
        from pykbroker.seeding.loading import load_seed

        assert self._seed is not None
        return load_seed(cluster, self._seed, only_new=True).map(lambda _: None)

    async def _call_in(self, host: Host, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the brokers' loop, and wait for it in the present one. Raises RuntimeError if the process ends before."""
        here = asyncio.get_running_loop()
        done: asyncio.Future[T] = here.create_future()

        def tell(task: asyncio.Task[T]) -> None:
            if done.done():
                return
            if task.cancelled():
                done.cancel()
            elif (error := task.exception()) is not None:
                done.set_exception(error)
            else:
                done.set_result(task.result())

        def begin() -> None:
            host.loop.create_task(work).add_done_callback(tell)

        host.call(asyncio.Handle(begin, (), host.loop, None))
        return await done

    def _again(self, restart: bool | float) -> None:
        """Start the process again, after a second or as many as ``restart`` says."""
        if restart is False:
            return

        def begin() -> None:
            self.pending -= 1
            if self.present is None:
                host = self.begin_life(_BrokerLoop)
                host.call(asyncio.Handle(lambda: host.loop.create_task(self._start()), (), host.loop, None))

        self.pending += 1
        self.simulator.after(RESTART_S if restart is True else restart, begin)

    # ---- what befalls it -----------------------------------------------------------------------------------------------

    def kill(self, at: Moment = None, *, restart: bool | float = True) -> None:
        """Kill the process of all brokers at a moment, as SIGKILL does: what was written stays."""

        def kill() -> None:
            if self.present is not None:
                self.simulator.note(self.name, "crash", f"{self.name} is killed")
                self.end_life()
                self._again(restart)

        self.plan("kill", at, kill)

    def lose_power(self, at: Moment = None, *, restart: bool | float = True) -> None:
        """Let the machine of all brokers lose power, at a moment or between any two operations of its disk: what was not synced
        may be lost, and clients are not told that their connections ended.
        """

        def lose() -> None:
            if self.present is not None:
                self.simulator.note(self.name, "crash", f"{self.name} loses power")
                self.end_life(silently=True)
                self.disk.crash(self._random)
                self._again(restart)

        self.plan("lose power", at, lose)

    def end_life(self, *, silently: bool = False) -> None:
        """End the process where it stands."""
        self._node = None
        super().end_life(silently=silently)

    async def stop_broker(self, node_id: int, *, abrupt: bool = False) -> None:
        """Stop one broker, by a controlled shutdown unless it is ``abrupt``; the others run on."""
        await self._on_brokers(lambda node: node.brokers.stop(node_id, abrupt=abrupt))

    async def start_broker(self, node_id: int) -> None:
        """Start a stopped broker."""
        await self._on_brokers(lambda node: node.brokers.start(node_id))

    async def _on_brokers(self, ask: Callable[[Node], Coroutine[Any, Any, T]]) -> T:
        if self._node is None or self.present is None:
            raise RuntimeError(f"{self.name} does not run at this moment")
        return await self._call_in(self.present, ask(self._node))

    # ---- what is in it -------------------------------------------------------------------------------------------------

    async def _ask(self, ask: Callable[[Cluster], Deferred[T]]) -> T:
        async def ask_node(node: Node) -> T:
            return await node.lifetimes.outcome(ask(node.cluster))

        return await self._on_brokers(ask_node)

    async def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        replication_factor: int = -1,
        configs: Mapping[str, object] | None = None,
    ) -> None:
        """Create a topic. Raises the KafkaError with which Kafka refuses a topic."""
        given = {setting: as_text(value) for setting, value in (configs or {}).items()}
        new = NewTopic(name, partitions, replication_factor, configs=given)
        (result,) = (await self._ask(lambda cluster: cluster.controller.create_topics([new]))).result
        records.raise_refusal(result.error, f"topic {name} cannot be created")

    async def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises LookupError if it does not exist, and the KafkaError with which Kafka refuses."""

        def delete(cluster: Cluster) -> Deferred[Any]:
            if name not in cluster.metadata.image.topics:
                raise LookupError(f"there is no topic {name}")
            return cluster.controller.delete_topics([cluster.metadata.image.topics[name].id])

        (error,) = (await self._ask(delete)).result.values()
        records.raise_refusal(error, f"topic {name} cannot be deleted")

    async def produce(
        self, topic: str, value: Bytes, *, key: Bytes = None, headers: Headers = (), partition: int | None = None
    ) -> Record:
        """Append a record as a producer with acks=all does."""
        return await self._ask(
            partial(records.produce, topic=topic, value=value, key=key, headers=headers, partition=partition)
        )

    def records(self, topic: str, partition: int | None = None) -> list[Record]:
        """The committed records of a topic, by partition and offset; none of one that does not exist."""
        return list(records.Reader(self.cluster, topic, partition).read())

    def origins(self, places: Iterable[str]) -> list[str]:
        """Of a recorded life, who produced the records at these places (``orders-0@7``), in which transaction, and what the client asked
        before and after.
        """
        return list(origins(places, list(self.requests or ()), topic_names(self.cluster)))

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The committed offsets of a group, by topic and partition."""
        return groups.committed(self.cluster, group)

    def groups(self) -> list[str]:
        """The ids of the groups that the brokers have."""
        return groups.group_ids(self.cluster)

    def lags(self, group: str, topic: str | None = None) -> dict[tuple[str, int], int]:
        """The lag of a group in each partition of a topic, or of all topics with committed offsets."""
        return groups.lags(self.cluster, group, topic)
