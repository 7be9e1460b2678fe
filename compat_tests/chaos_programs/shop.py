"""Lives of a program under chaos: a cluster and a seed each, and a judgement of what became of its records.

``python -m compat_tests.chaos_programs.shop java-classic --seeds 500`` prints what was found.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from compat_tests.chaos_programs.programs import PROGRAMS
from pykbroker.judge import Misjudged
from pykbroker.seeding.dumping import partitions
from pykbroker.testing import Kafka

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster

#: What befalls a life: four times as much as by default, and nothing more behind it, so that it must end.
CHAOS: Final = "{seed} intensity=4 quiet_after=3s"
ORDERS: Final = 40
_SETTINGS: Final = {
    "default.replication.factor": 3,
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "group.min.session.timeout.ms": 1000,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.session.timeout.ms": 3000,
    "group.initial.rebalance.delay.ms": 100,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
}
#: What the shop and its payers write.
_TOPICS: Final = ("orders", "charges", "receipts")
#: Longer than a program takes to say that it has not ended in time.
_LIMIT_S: Final = 150


class Lost(Exception):
    """A program has ended, or does not answer."""


class Running:
    """A program that lives lives by lines."""

    def __init__(self, name: str) -> None:
        self.kind, self.guarantee = PROGRAMS[name].kind, PROGRAMS[name].guarantee
        self._running = subprocess.Popen(
            PROGRAMS[name].command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._waiting: dict[str, queue.SimpleQueue[str]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._running.stdout is not None
        for line in self._running.stdout:
            first, _, rest = line.strip().partition(" ")
            if first == "LIFE":
                number, _, said = rest.partition(" ")
                self._waiting[number].put(said)
        for each in list(self._waiting.values()):
            each.put("the program has ended")

    def live(self, number: str, bootstrap: str) -> str:
        """``ok``, or what the program says went wrong. Raises Lost."""
        answer = self._waiting[number] = queue.SimpleQueue()
        assert self._running.stdin is not None
        self._running.stdin.write(f"LIFE {number} {self.kind} {bootstrap} {ORDERS}\n")
        self._running.stdin.flush()
        try:
            return answer.get(timeout=_LIMIT_S)
        except queue.Empty as error:
            raise Lost(f"no answer in {_LIMIT_S} s") from error
        finally:
            del self._waiting[number]

    def close(self) -> None:
        self._running.kill()
        self._running.wait()
        self._reader.join()
        for pipe in (self._running.stdin, self._running.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def running(name: str) -> Iterator[Running]:
    """A program of PROGRAMS."""
    program = Running(name)
    try:
        yield program
    finally:
        program.close()


@dataclass(frozen=True)
class Life:
    """How a life by a seed went: what was found, if anything, and what befell it."""

    seed: int
    found: str
    seconds: float
    befell: tuple[str, ...]
    #: The errors that clients were answered, of the last thousand requests: ``Produce NOT_LEADER_OR_FOLLOWER``.
    answered: frozenset[str]


def live(program: Running, seed: int, chaos: str = CHAOS) -> Life:
    """One life by a seed."""
    begun = time.monotonic()
    with Kafka(_SETTINGS, brokers=3, chaos=chaos.format(seed=seed)) as kafka:
        for topic in _TOPICS:
            kafka.create_topic(topic, 2, replication_factor=3)
        try:
            said = program.live(str(seed), kafka.bootstrap_servers)
        except Lost as error:
            said = str(error)
        found = "\n".join(filter(None, ("" if said == "ok" else said, judged(kafka, program.guarantee))))
        befell = tuple(line.partition("Chaos: ")[2] for line in kafka.log_lines if "Chaos: " in line)
        answered = frozenset(f"{each.api} {code.name}" for each in kafka.requests() for code in each.error_codes)
    return Life(seed, found, time.monotonic() - begun, befell, answered)


def _is_readable(cluster: Cluster) -> bool:
    """Whether all that is written can be read: the transaction of a payer that is gone hides what comes behind it until its time is over."""
    return all(
        each.last_stable_offset == each.log_end_offset for topic in _TOPICS for each in partitions(cluster, topic)
    )


def judged(kafka: Kafka, guarantee: str) -> str:
    """What is wrong with what a life has left behind; nothing if all is as it must be."""
    with contextlib.suppress(TimeoutError):  # then it is judged as it stands
        kafka.wait_until(_is_readable, timeout=_LIMIT_S)
    orders = [record.value for record in kafka.records("orders")]
    if sorted(orders) != sorted(b"order %d" % number for number in range(ORDERS)):
        return f"the shop's orders are not there once each: {Counter(orders)}"
    for key in range(5):
        numbers = [int(each.split()[1]) for each in orders if int(each.split()[1]) % 5 == key]
        if numbers != sorted(numbers):
            return f"the shop's orders of key {key} are out of order: {numbers}"
    try:
        kafka.judge("orders", "charges", "receipts", guarantee=guarantee, in_order=True)
    except Misjudged as error:
        return str(error)
    return ""


def runs(program: Running, seeds: Iterable[int], at_once: int) -> Iterator[Life]:
    """Lives by seeds, several at a time, as they end."""
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(lambda seed: live(program, seed), seeds)


def main() -> None:
    """Live and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=6)
    given = parser.parse_args()
    logging.getLogger().addHandler(logging.NullHandler())
    begun, found, befell, answered = time.monotonic(), 0, Counter[str](), Counter[str]()
    with running(given.program) as program:
        for life in runs(program, range(given.first, given.first + given.seeds), given.at_once):
            befell.update(each.partition(":")[0] for each in life.befell)
            answered.update(life.answered)
            if life.found:
                found += 1
                print(f"seed {life.seed} ({life.seconds:.1f} s): {life.found}", *life.befell, sep="\n    ", flush=True)
    seconds = time.monotonic() - begun
    print(f"{given.program}: {given.seeds} lives, {found} with findings, {seconds:.0f} s; befell: {dict(befell)}")
    print(f"errors that clients were answered, and in how many lives: {dict(sorted(answered.items()))}")


if __name__ == "__main__":
    sys.exit(main())
