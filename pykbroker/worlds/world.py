"""A world: brokers and the user's programs on hosts of one network, for one life."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from pykbroker import judge
from pykbroker.testing.records import Reader
from pykbroker.worlds.brokers import WorldKafka
from pykbroker.worlds.hosts import AnyTime, Moment, Process, WorldHost
from pykbroker.worlds.network import Network, Weather
from pykbroker.worlds.settling import settle

if TYPE_CHECKING:
    from pykbroker.seeding.reading import Seedable
    from pykbroker.testing.records import Record
    from pykbroker.worlds.simulator import Simulator

#: How long a partition lasts where nobody says so.
_PARTITION_S: Final = 20.0


class World:
    """What a test is given. Times are seconds of the world's, which begin with it; ``seed`` decides about everything."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.seed = simulator.tape.seed
        #: Random numbers for the test itself.
        self.random: Random = simulator.tape.randomness("the test")
        self.hosts: list[WorldHost] = []
        self.brokers: list[WorldKafka] = []
        self._network = Network(simulator)
        self.test = Process(simulator, self._network, "test")
        #: Called with each process of brokers that starts.
        self.watch: Callable[[WorldKafka], None] | None = None

    @property
    def now(self) -> float:
        """Seconds since the world began."""
        return self.simulator.now

    @property
    def network(self) -> Weather:
        """How the network behaves, for connections that are made from now on."""
        return self._network.weather

    # ---- who lives in it -----------------------------------------------------------------------------------------------

    async def kafka(
        self,
        brokers: int = 1,
        settings: Mapping[str, object] | None = None,
        *,
        topics: Mapping[str, int] | None = None,
        seed: Seedable | None = None,
        name: str = "kafka",
        chaos: str | None = None,
    ) -> WorldKafka:
        """Start brokers of one cluster, with settings by Kafka's names. ``topics`` are those that exist at the start, with their
        numbers of partitions; ``seed`` is one of docs/seeds.md. ``name`` is the host that clients connect to.
        ``chaos`` has words such as "profile=network intensity=2 quiet_after=30s": by the world's seed there befalls clients what Apache
        Kafka may do to them. Raises BadChaos, and ValueError for no brokers.
        """
        from pykbroker.seeding.reading import read

        given = {"topics": {topic: {"partitions": count} for topic, count in (topics or {}).items()}}
        sown = read(given) if topics or seed is not None else None
        if sown is not None and seed is not None:
            sown.add(read(seed))
        befalls = None
        if chaos is not None:
            from pykbroker.faults.chaos import Chaos

            befalls = Chaos.parse(f"{self.seed % 2**63} {chaos}")
        made = WorldKafka(self.simulator, self._network, name, brokers, settings or {}, sown, befalls)
        if self.watch is not None:
            self.watch(made)
        self.brokers.append(made)
        await made.start()
        return made

    def host(
        self,
        function: Callable[..., Coroutine[Any, Any, Any]],
        *arguments: Any,
        name: str | None = None,
        clock_skew: float = 0.0,
    ) -> WorldHost:
        """Run a program, an async function, as a process on a host of its own; its wall clock is ``clock_skew`` seconds ahead.
        Raises TypeError for what cannot be called, as a coroutine is: it is called again when the process starts again.
        """
        if not callable(function):
            if asyncio.iscoroutine(function):
                function.close()
            raise TypeError(
                f"world.host takes an async function and its arguments, not {function!r}: write world.host(f, x), not f(x)"
            )
        within = function.func if isinstance(function, partial) else function
        asked = name or str(getattr(within, "__name__", "host")).strip("_")
        taken = {each.name for each in (*self.hosts, *self.brokers)}
        chosen = next(each for each in (asked, *(f"{asked}-{n}" for n in range(2, 1000))) if each not in taken)
        made = WorldHost(self.simulator, self._network, chosen, function, arguments, clock_skew)
        self.hosts.append(made)
        made.start()
        return made

    # ---- what happens in it --------------------------------------------------------------------------------------------

    @staticmethod
    def any_time() -> AnyTime:
        """A moment that the seed chooses: before any turn of the process, or never."""
        return AnyTime()

    def partition(
        self, one: Process, other: Process, *, at: Moment = None, seconds: float = _PARTITION_S, one_way: bool = False
    ) -> None:
        """Let nothing of ``one`` reach ``other`` for so long, nor the reverse, unless it is ``one_way``. Segments are held up, as
        TCP's retransmissions are, and connections stay.
        """
        ways = [(one.name, other.name)] if one_way else [(one.name, other.name), (other.name, one.name)]

        def begin() -> None:
            for way in ways:
                self._network.cut(*way)
            one.pending += 1
            self.simulator.after(seconds, end)

        def end() -> None:
            one.pending -= 1
            for way in ways:
                self._network.heal(*way)

        one.plan(f"partition from {other.name}", at, begin)

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def until(self, condition: Callable[[], object], *, at_most: float = 600.0) -> None:
        """Let time pass until a condition holds, which is looked at every 10 ms. Raises TimeoutError after ``at_most`` seconds."""
        end = self.now + at_most
        while not condition():
            if self.now >= end:
                raise TimeoutError(f"the condition does not hold after {at_most:g} s of the world's time")
            await asyncio.sleep(0.01)

    async def settle(self, *, at_most: float = 900.0) -> None:
        """Let time pass until all that was planned has happened, and nothing more comes of it: every group has read to the end,
        or nothing is written and nothing is committed any more. Raises HostFailed if a host ended by an error, and TimeoutError
        after ``at_most`` seconds.
        """
        await settle(self.simulator, self.hosts, self.brokers, at_most)

    def judge(
        self,
        kafka: WorldKafka,
        source: str,
        *targets: str,
        effects: Iterable[Hashable] | None = None,
        guarantee: str = "exactly-once",
        identity: Callable[[Record], Hashable] = lambda record: record.value,
        key: Callable[[Record], Hashable] = lambda record: record.key,
        in_order: bool = False,
    ) -> None:
        """Hold what a program has written to the topics ``targets``, or done as ``effects`` (identities in their order), against what
        stands in ``source``, by the identity of each record. ``guarantee`` is at-most-once, at-least-once or exactly-once;
        ``in_order`` asks for the order of each key, too. Raises Misjudged with what is lost, doubled, torn (in one target and
        not in another), out of order, read too early or made up, and where it stands; in the report also with the producers, the transactions and
        the requests around it.
        """
        try:
            judge.judge_records(
                *(kafka.records(source), map(kafka.records, targets), effects, guarantee, identity, key),
                in_order=in_order,
                uncommitted=lambda: Reader(kafka.cluster, source).uncommitted(),
            )
        except judge.Misjudged as found:
            told = kafka.origins(found.places)
            raise judge.Misjudged("\n".join([str(found), *told]), found.places) from None

    def note(self, words: str) -> None:
        """Add a line to the timeline, under the host whose turn it is."""
        current = self.simulator.current
        self.simulator.note("test" if current is None else current.name, "note", words)
