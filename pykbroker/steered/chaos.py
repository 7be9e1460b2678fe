"""Legal chaos in a process of brokers: what befalls requests, and what befalls the cluster, by real means."""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import IO, TYPE_CHECKING, Any, Final

from pykbroker.brokers.broker import WrongBroker
from pykbroker.faults.chaos import Chaos, RequestChaos
from pykbroker.faults.chaos_catalogue import STREAMS
from pykbroker.faults.chaos_tape import LONGEST, ClusterOutcome, Decision, header, line
from pykbroker.process.life import LifeEnded
from pykbroker.steered.chaos_means import RealMeans
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pykbroker.process.life import Life
    from pykbroker.process.node import Node

log = logging.getLogger(__name__)

#: The mean pause between two things that befall the cluster in one stream, in seconds.
_PAUSE_S: Final = 3.0
#: The most lines of a tape that are shown.
MOST_LINES: Final = 1_000


class ChaosControl:
    """Chaos in a process of brokers: one that each life of the brokers begins with, or another one meanwhile. What ``permits`` forbids
    does not befall.
    """

    def __init__(self, node: Node, permits: Callable[[Decision], bool] = lambda _: True) -> None:
        self._node = node
        self._permits = permits
        self._running: RunningChaos | None = None
        self._initial: Chaos | None = None
        self._record: Path | None = None
        #: What has befallen the cluster and is not over, as a broker that is down: it goes on when chaos ends, and ends with the life.
        self._going_on: set[asyncio.Task[None]] = set()
        self._leave = node.lifetimes.follow(self._began)

    def begin_each_life_with(self, chaos: Chaos, record: Path | None = None) -> None:
        """Begin now, and anew in each later life; ``record`` is a file that gets the tape, line by line. Raises OSError if it
        cannot be written, and BadChaos for a tape of other brokers.
        """
        self._record = record
        self.begin(chaos)
        self._initial = chaos

    def begin(self, chaos: Chaos) -> None:
        """Begin, in place of any other, until the present life of the brokers ends. Raises OSError, and BadChaos for a tape of
        other brokers, which leaves what there was.
        """
        chaos.check_brokers(self._node.cluster.metadata.image.brokers)
        self._begin(chaos)

    def _begin(self, chaos: Chaos) -> None:
        self.end()
        self._running = RunningChaos(self._node, chaos, self._going_on, self._record, self._permits)

    def end(self) -> None:
        """End; what has begun goes on. Harmless when repeated."""
        running, self._running = self._running, None
        if running is not None:
            running.end()

    def close(self) -> None:
        """End for good."""
        self._leave()
        self._end_all()

    def as_json(self) -> dict[str, Any]:
        """The chaos as text or None, how much befell, and its tape so far."""
        running = self._running
        if running is None:
            return {"chaos": None, "befell": 0, "tape": []}
        return {"chaos": str(running.chaos), "befell": len(running.befell), "tape": running.tape()}

    def _began(self, life: Life) -> None:
        life.at_end(self._end_all)
        if self._initial is not None:
            self._begin(self._initial)

    def _end_all(self) -> None:
        self.end()
        for each in self._going_on:
            each.cancel()


class RunningChaos:
    """One chaos, from its construction to its end. ``going_on`` gets a task for each thing that befalls the cluster, until it is over."""

    def __init__(
        self,
        node: Node,
        chaos: Chaos,
        going_on: set[asyncio.Task[None]],
        record: Path | None,
        permits: Callable[[Decision], bool],
    ) -> None:
        """Raises OSError if the tape cannot be written."""
        self._node = node
        self._permits = permits
        self._going_on = going_on
        self.chaos = chaos
        self._file: IO[str] | None = None if record is None else record.open("w", encoding="utf-8")
        #: What has befallen, the first LONGEST of it.
        self.befell: list[Decision] = []
        log.warning("Chaos %s: clients see what Apache Kafka may do to them", chaos)
        self._write(header(str(chaos)))
        requests = RequestChaos(chaos, self._tell, permits)
        self._means = RealMeans(node, requests.clients_of)
        node.faults.begin_chaos(requests)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def end(self) -> None:
        """Nothing more befalls anybody."""
        self._node.faults.end_chaos()
        self._task.cancel()
        if self._file is not None:
            self._file.close()
            self._file = None

    def tape(self) -> list[str]:
        """The lines of its tape, the last MOST_LINES of them."""
        return [header(str(self.chaos)), *map(line, self.befell[-MOST_LINES:])]

    async def _run(self) -> None:
        """Let things befall the cluster until it is quiet."""
        planned = self.chaos.planned()
        try:
            if planned is None:
                async with asyncio.TaskGroup() as streams:
                    for stream in STREAMS:
                        streams.create_task(self._draw(stream))
            else:
                await self._play(planned)
        finally:
            self._node.faults.end_chaos()

    async def _play(self, planned: list[ClusterOutcome]) -> None:
        """Let happen what is on a tape, each in its time, beside what of it is still going on."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        async with asyncio.TaskGroup() as going_on:
            for each in planned:
                await asyncio.sleep(max(0.0, begun + each.at_ms / 1000 - loop.time()))
                going_on.create_task(self._befall(each))
            await asyncio.Event().wait()  # requests have their part of the tape whenever they come

    async def _draw(self, stream: str) -> None:
        """Draw what befalls the cluster in one stream, one after the other, until it is quiet."""
        loop, chaos = asyncio.get_running_loop(), self.chaos
        begun, rng = loop.time(), Random(f"{chaos.seed}/{stream}")
        shares = {each.name: each.share for each in chaos.outcomes() if each.fault is None and each.stream == stream}
        end = None if chaos.quiet_after is None else begun + chaos.quiet_after / 1000
        while True:
            pause = rng.expovariate(chaos.intensity / _PAUSE_S)
            if end is not None and loop.time() + pause >= end:
                await asyncio.sleep(max(0.0, end - loop.time()))
                return
            await asyncio.sleep(pause)
            if not shares:
                continue
            (name,) = rng.choices(list(shares), list(shares.values()))
            drawn = self._means.drawn(name, rng, round((loop.time() - begun) * 1000))
            if drawn is not None and self._permits(drawn):
                await self._befall(drawn)

    async def _befall(self, decision: ClusterOutcome) -> None:
        self._tell(decision)
        task = asyncio.get_running_loop().create_task(self._carry_out(decision))
        self._going_on.add(task)
        task.add_done_callback(self._going_on.discard)
        await asyncio.shield(task)

    async def _carry_out(self, decision: ClusterOutcome) -> None:
        try:
            await self._means.carry_out(decision)
        except (KafkaError, WrongBroker, LifeEnded, LookupError, OSError) as error:
            log.info("Chaos: %s does not happen: %s", decision, error)

    def _tell(self, what: Decision) -> None:
        log.info("Chaos: %s", what)
        if len(self.befell) < LONGEST:
            self.befell.append(what)
            self._write(line(what))

    def _write(self, text: str) -> None:
        if self._file is not None:
            print(text, file=self._file, flush=True)
