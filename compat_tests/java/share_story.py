"""Members of a share group as processes, their brokers, and what befalls them; ``share_ledger.py`` judges what they have written down."""

from __future__ import annotations

import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from confluent_kafka import Consumer, ElectionType, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.directories.client import Client
from compat_tests.harness.java import compile_java, java_command
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import stop_turns
from compat_tests.java.share_ledger import Ledger, Process
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest

_SOURCE = Path(__file__).parent / "ShareMember.java"
PARTITIONS, MEMBERS = 2, 3
_TOPIC, _LETTERS, _GROUP = "work", "dlq.work", "workers"
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
    "group.share.min.session.timeout.ms": "30000",
    "group.share.session.timeout.ms": "30000",
    "group.share.min.record.lock.duration.ms": "1000",
    "share.coordinator.snapshot.update.records.per.snapshot": "20",
}
#: Of several brokers: all have everything, and go on without one.
_COPIED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "share.coordinator.state.topic.num.partitions": "3",
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
                self._send(value, self._number % PARTITIONS)
                self._number += 1
            self._producer.poll(0.05)
        self.finish()

    def send_last(self) -> None:
        """A record for each partition."""
        for partition in range(PARTITIONS):
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


class Story:
    """Brokers, the members of a group, and what befalls them. Ends with ``close``."""

    def __init__(self, mode: str, folder: Path, brokers: int = 1) -> None:
        self.broker = Pykbroker(folder / "broker", _SETTINGS | (_COPIED if brokers > 1 else {}), brokers=brokers)
        self.ledger = Ledger(_LOCK_S, _LIMIT)
        self.broker.start()
        self._bootstrap = ",".join(self.broker.addresses.values())
        self.admin = AdminClient({"bootstrap.servers": self._bootstrap})
        enabled = {"errors.deadletterqueue.group.enable": "true"}
        topics = [NewTopic(_TOPIC, PARTITIONS), NewTopic(_LETTERS, 1, config=enabled)]
        for created in self.admin.create_topics(topics).values():
            created.result(_LIMIT_S)
        with closing(Client(self.broker.bootstrap)) as client:
            client.alter(_GROUP_RESOURCE, _GROUP, _GROUP_CONFIGS)
        values = ["good"] * 6 + ["never", "later"] if mode == "explicit" else ["good"]
        self.writer = _Writer(self._bootstrap, self.ledger, values)
        self.members = _Group(self._bootstrap, mode, self.ledger, folder)

    def close(self) -> None:
        """End everything."""
        self.writer.over.set()
        self.members.kill_all()
        self.broker.kill()

    @contextmanager
    def loses_locks(self) -> Iterator[None]:
        """Meanwhile leaders end, so that what is acquired is delivered again."""
        begun = time.monotonic()
        yield
        self.ledger.moves.append((begun, time.monotonic()))

    def go_on(self, more: int = _BETWEEN, since: int | None = None) -> None:
        """Until there are so many deliveries more than now, or than there were."""
        wanted = (len(self.ledger.got()) if since is None else since) + more
        self.until(lambda: len(self.ledger.got()) >= wanted, "deliveries")

    def until(self, fact: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _LIMIT_S
        while not fact():
            assert time.monotonic() < deadline, (
                f"waited in vain for {what}: {self.ledger.produced and self.ledger.figures()}"
            )
            time.sleep(0.02)

    def kill_the_broker(self) -> None:
        with self.loses_locks():
            self.broker.kill()
        self.broker.start()

    def stop_one(self, node: int, *, abrupt: bool) -> None:
        """One of several brokers goes away, and others lead what it led, its share coordinators too."""
        with self.loses_locks():
            self.broker.change_broker("stop", node, *(["--abrupt"] if abrupt else []))

    def start_one(self, node: int) -> None:
        """A broker returns, and leads again what it led at first."""
        with self.loses_locks():
            self.broker.change_broker("start", node)
            self.admin.elect_leaders(ElectionType.PREFERRED, None).result(_LIMIT_S)

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
            (found,) = client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[_GROUP]), 6).coordinators
        if found.error_code:
            return False
        with closing(Client(f"{found.host}:{found.port}")) as client:
            asked = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(_GROUP, None)])
            (group,) = client.ask(asked, 1).groups
        parts = [part for topic in group.topics for part in topic.partitions]
        return len(parts) == PARTITIONS and all(part.error_code == 0 and part.lag == 0 for part in parts)

    def finish(self) -> None:
        """All work is done, and after a kill nothing of it is delivered again: a member that has seen nothing gets only what is new."""
        self.writer.over.set()
        self.writer.join()
        self.until(self.is_done, "the end of the work")
        self.kill_the_broker()
        self.members.kill_all()
        # a member may get the last ones before the producer is told that they are there
        delivered = len(self.ledger.got())
        self.members.start()
        self.writer.send_last()
        self.go_on(PARTITIONS, since=delivered)
        self.until(self.is_done, "the last ones")
        self.read_letters()

    def read_letters(self) -> None:
        reader = Consumer({"bootstrap.servers": self._bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"})
        reader.assign([TopicPartition(_LETTERS, 0, 0)])
        _, end = reader.get_watermark_offsets(TopicPartition(_LETTERS, 0))
        for message in reader.consume(end, _LIMIT_S):
            headers = dict(message.headers())
            place = int(headers["__dlq.errors.partition"]), int(headers["__dlq.errors.offset"])
            self.ledger.letters[place] += 1
        assert sum(self.ledger.letters.values()) == end
        reader.close()
