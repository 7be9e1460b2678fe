"""At least once under SIGKILL: members of a share group and their broker are killed under load, and the members' ledger is judged.

No record is lost, none is delivered beyond the limit, none is with two members within its lock, nothing that was answered is forgotten,
and each record that is given up has one letter. ``PYKBROKER_LONG=1`` has a hundred deeds in place of three.
"""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.conftest import LONG
from compat_tests.directories.client import Client
from compat_tests.harness.java import compile_java, java_command
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import stop_turns
from compat_tests.java.share_ledger import Ledger, Process
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)

_SOURCE = Path(__file__).parent / "ShareMember.java"
_TOPIC, _LETTERS, _GROUP, _PARTITIONS, _MEMBERS = "work", "dlq.work", "workers", 2, 3
_DEEDS = 100 if LONG else 3
#: Deliveries between one deed and the next, and records that wait at most for their first.
_BETWEEN, _AHEAD = 40, 60
_LOCK_S, _LIMIT = 8, 4
_GROUP_CONFIGS: dict[str, str | None] = {
    "share.auto.offset.reset": "earliest",
    "share.delivery.count.limit": str(_LIMIT),
    "share.record.lock.duration.ms": str(_LOCK_S * 1000),
    "errors.deadletterqueue.topic.name": _LETTERS,
}
_SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "200",
    "group.share.session.timeout.ms": "30000",
    "group.share.min.record.lock.duration.ms": "1000",
    "share.coordinator.snapshot.update.records.per.snapshot": "20",
}
_GROUP_RESOURCE = 32
_LIMIT_S = 180


class _Writer(threading.Thread):
    """Sends records, each of which is there once, with no more ahead of the members than ``_AHEAD``."""

    def __init__(self, bootstrap: str, ledger: Ledger, values: list[str]) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self._ledger = ledger
        self._values = values
        self._number = 0
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "retry.backoff.ms": 10,
            }
        )

    def run(self) -> None:
        while not self.over.is_set():
            begun = len(set(self._ledger.got()))
            while self._number - begun < _AHEAD:
                value = f"{self._values[self._number % len(self._values)]} {self._number}"
                self._send(value, self._number % _PARTITIONS)
                self._number += 1
            self._producer.poll(0.05)
        self.finish()

    def send_last(self) -> None:
        """A record for each partition."""
        for partition in range(_PARTITIONS):
            self._send("good last", partition)
        self.finish()

    def finish(self) -> None:
        assert self._producer.flush(120) == 0

    def _send(self, value: str, partition: int) -> None:
        note = partial(self._note, value, time.monotonic())
        self._producer.produce(_TOPIC, value.encode(), partition=partition, on_delivery=note)

    def _note(self, value: str, sent: float, error, message) -> None:
        assert error is None, error
        self._ledger.produced[message.partition(), message.offset()] = value, sent


class _Group:
    """The members as processes."""

    def __init__(self, bootstrap: str, mode: str, ledger: Ledger, folder: Path) -> None:
        self._command = java_command("ShareMember", "kafka", classes=compile_java([_SOURCE], "kafka"))
        self._arguments = [bootstrap, _GROUP, _TOPIC, mode]
        self._ledger = ledger
        self._folder = folder
        self.running: list[tuple[subprocess.Popen[bytes], Process]] = []

    def start(self) -> None:
        number = len(self._ledger.processes)
        life = Process(self._folder / f"member-{number}", time.monotonic())
        with (self._folder / f"member-{number}.log").open("wb") as log:
            command = [*self._command, *self._arguments, str(life.file)]
            self.running.append((subprocess.Popen(command, stdout=log, stderr=log), life))
        self._ledger.processes.append(life)

    def kill(self, index: int) -> None:
        process, life = self.running.pop(index)
        life.died = time.monotonic()
        process.kill()
        process.wait()

    def kill_all(self) -> None:
        while self.running:
            self.kill(0)


class _Story:
    """One broker, its members, and what befalls them."""

    def __init__(self, mode: str, folder: Path) -> None:
        self.broker = Pykbroker(folder / "broker", _SETTINGS)
        self.ledger = Ledger(_LOCK_S, _LIMIT)
        self.broker.start()
        with closing(Client(self.broker.bootstrap)) as client:
            client.create(_TOPIC, _PARTITIONS)
            client.create(_LETTERS, errors_deadletterqueue_group_enable="true")
            client.alter(_GROUP_RESOURCE, _GROUP, _GROUP_CONFIGS)
        values = ["good"] * 6 + ["never", "later"] if mode == "explicit" else ["good"]
        self.writer = _Writer(self.broker.bootstrap, self.ledger, values)
        self.members = _Group(self.broker.bootstrap, mode, self.ledger, folder)

    def go_on(self, more: int = _BETWEEN, since: int | None = None) -> None:
        """Until there are so many deliveries more than now, or than there were."""
        wanted = (len(self.ledger.got()) if since is None else since) + more
        self.until(lambda: len(self.ledger.got()) >= wanted, "deliveries")

    def until(self, fact, what: str) -> None:
        deadline = time.monotonic() + _LIMIT_S
        while not fact():
            assert time.monotonic() < deadline, (
                f"waited in vain for {what}: {self.ledger.produced and self.ledger.figures()}"
            )
            time.sleep(0.02)

    def kill_the_broker(self) -> None:
        self.ledger.kills.append(time.monotonic())
        self.broker.kill()
        self.broker.start()

    def kill_a_member(self, random: random.Random) -> None:
        self.members.kill(random.randrange(len(self.members.running)))
        self.members.start()

    def stop_a_member(self, random: random.Random) -> None:
        """It is silent for longer than its locks hold."""
        process, _ = random.choice(self.members.running)
        stop_turns(process.pid)
        silent_until = time.monotonic() + _LOCK_S
        self.until(lambda: time.monotonic() > silent_until, "the locks' end")
        process.send_signal(signal.SIGCONT)

    def is_done(self) -> bool:
        """Whether the group has nothing left to deliver."""
        with closing(Client(self.broker.bootstrap)) as client:
            requested = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(_GROUP, None)])
            (group,) = client.ask(requested, 1).groups
        parts = [part for topic in group.topics for part in topic.partitions]
        return len(parts) == _PARTITIONS and all(part.error_code == 0 and part.lag == 0 for part in parts)

    def read_letters(self) -> None:
        reader = Consumer(
            {"bootstrap.servers": self.broker.bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"}
        )
        reader.assign([TopicPartition(_LETTERS, 0, 0)])
        _, end = reader.get_watermark_offsets(TopicPartition(_LETTERS, 0))
        for message in reader.consume(end, _LIMIT_S):
            headers = dict(message.headers())
            place = int(headers["__dlq.errors.partition"]), int(headers["__dlq.errors.offset"])
            self.ledger.letters[place] += 1
        assert sum(self.ledger.letters.values()) == end
        reader.close()


@contextmanager
def _story(mode: str, folder: Path) -> Iterator[_Story]:
    story = _Story(mode, folder)
    try:
        yield story
    finally:
        story.writer.over.set()
        story.members.kill_all()
        story.broker.kill()


@pytest.mark.parametrize("mode", ["explicit", "implicit"])
def test_at_least_once(mode: str, tmp_path: Path) -> None:
    chance = random.Random(35)
    with _story(mode, tmp_path) as story:
        story.writer.start()
        for _ in range(_MEMBERS):
            story.members.start()
        for number in range(_DEEDS):
            story.go_on()
            if number % 3 != 1:
                story.kill_the_broker()
            if number % 3 != 0:
                story.kill_a_member(chance)
            if number % 10 == 5:
                story.stop_a_member(chance)
        story.writer.over.set()
        story.writer.join()
        story.until(story.is_done, "the end of the work")
        story.kill_the_broker()
        story.members.kill_all()
        delivered = len(
            story.ledger.got()
        )  # a member may get the last ones before the producer is told that they are there
        story.members.start()  # one that has seen nothing gets only what is new
        story.writer.send_last()
        story.go_on(_PARTITIONS, since=delivered)
        story.until(story.is_done, "the last ones")
        story.read_letters()
        print(mode, story.ledger.figures())
        assert story.ledger.faults() == []
        assert sum(words[0] == "got" for words in story.ledger.processes[-1].lines()) == _PARTITIONS


_GOT = "got {at}000000000 0 0 {count} {verdict}\nsays {says}000000000\n"


@pytest.mark.parametrize(
    ("value", "runs", "letters", "fault"),
    [
        ("good", [(1, _GOT.format(at=2, count=1, verdict="accept", says=3))], 0, ""),
        ("never", [(1, _GOT.format(at=2, count=1, verdict="reject", says=3))], 1, ""),
        ("good", [(1, "got 2000000000 0 0 1 accept\n")], 0, "lost"),
        ("never", [(1, _GOT.format(at=2, count=1, verdict="reject", says=3))], 0, "given up without a letter"),
        ("never", [(1, _GOT.format(at=2, count=1, verdict="reject", says=3))], 2, "more than one letter"),
        ("good", [(1, _GOT.format(at=2, count=5, verdict="accept", says=3))], 0, "delivered beyond the limit"),
        ("good", [(1, _GOT.format(at=n, count=1, verdict="accept", says=5)) for n in (2, 3)], 0, "two had it"),
        ("good", [(1, _GOT.format(at=n, count=1, verdict="accept", says=n)) for n in (2, 3)], 0, ""),
        (
            "good",
            [
                (1, _GOT.format(at=2, count=1, verdict="accept", says=3) + "said 4000000000 0 0 ok\n"),
                (5, _GOT.format(at=6, count=2, verdict="accept", says=7)),
            ],
            0,
            "delivered again",
        ),
    ],
)
def test_the_judgement_finds_each_fault(
    value: str, runs: list[tuple[float, str]], letters: int, fault: str, tmp_path: Path
) -> None:
    ledger = Ledger(lock_s=100, limit=4, produced={(0, 0): (f"{value} 0", 1.0)})
    ledger.letters[0, 0] = letters
    for number, (started, text) in enumerate(runs):
        file = tmp_path / f"member-{number}"
        file.write_text(text)
        ledger.processes.append(Process(file, started))
    found = [line.split(": ")[1] for line in ledger.faults()]
    assert (fault in found) if fault else not found, found
