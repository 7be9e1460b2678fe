"""What stock clients write and read under a byte quota, over a time in which windows come and go, as seen on the wire.

Nobody ever gets ahead of his quota. Nor is anybody told to wait for longer than that takes: what he has had is within 5 percent of
the quota in all the time for which he was told to wait. On a machine that has nothing else to do that time is nearly all there
is, and the rate is the quota; on another one clients and brokers are late by themselves, which is nobody's quota. With
``PYKBROKER_LONG=1`` this is so for producers and consumers of three clients over ten seconds, and a producer beside them that has no
quota is never told to wait. One window, and requests that are small beside the quota: with Kafka's eleven windows use comes in
gusts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from confluent_kafka import Producer

from compat_tests.conftest import LONG, make_target, takes_long
from compat_tests.harness.class_archives import KAFKA
from compat_tests.harness.java import QUICK, java_command
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.quotas import alter
from compat_tests.oracle.connection import Connection
from compat_tests.quotas.clients import VALUE
from compat_tests.quotas.recorder import Answer, Recorder
from pykbroker.wire.apis import ApiKey

RATE: Final = 500_000
#: Of the one window there is.
WINDOW_S: Final = 1
WARM_UP_S: Final = 2.0
MEASURED_S: Final = 10.0
#: Until so much was measured, however slow the machine is.
LIMIT_S: Final = 180.0
KEYS: Final = {"producer": "producer_byte_rate", "consumer": "consumer_byte_rate"}
APIS: Final = {"producer": ApiKey.PRODUCE, "consumer": ApiKey.FETCH}
WITHIN: Final = 0.05


class Place(NamedTuple):
    """A broker, and what its clients were answered."""

    broker: BrokerProcess
    recorder: Recorder

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.recorder.port}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    recorder = Recorder()
    advertised = f"PLAINTEXT://127.0.0.1:{recorder.port}"
    settings = {"quota.window.num": "1", "advertised.listeners": advertised}
    broker = make_target(tmp_path_factory.mktemp("quotas"), settings)
    broker.start()
    recorder.begin(broker.port)
    yield Place(broker, recorder)
    broker.stop()
    recorder.close()


@pytest.fixture(scope="module")
def full_topic(place: Place) -> str:
    """A topic with more records than a consumer with a quota reads here, one in each batch."""
    producer = Producer({"bootstrap.servers": place.address, "batch.size": len(VALUE)})
    for _ in range(int(RATE * (60 if LONG else 15) / len(VALUE))):
        producer.produce("read", VALUE, partition=0)
        producer.poll(0)
    assert producer.flush(120) == 0
    return "read"


def limited(place: Place, role: str, client: str) -> str:
    """The client's id, which has a quota from now on."""
    connection = Connection(place.broker.bootstrap)
    connection.ask(alter(([("client-id", client)], [(KEYS[role], float(RATE))])), 1)
    connection.close()
    return client


@contextmanager
def working(library: str, role: str, place: Place, client: str, folder: Path) -> Iterator[None]:
    """Its process, as long as it is wanted."""
    command = _java(role, place, client, folder) if library == "Java" else _python(library, role, place, client)
    with (folder / f"{client}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield
            assert process.poll() is None, (folder / f"{client}.log").read_text()
        finally:
            process.kill()
            process.wait()


def _python(library: str, role: str, place: Place, client: str) -> list[str]:
    topic = "read" if role == "consumer" else f"written-{client}"
    return [sys.executable, "-m", "compat_tests.quotas.clients", library, role, place.address, client, topic]


def _java(role: str, place: Place, client: str, folder: Path) -> list[str]:
    """The tools that measure Kafka's own client."""
    settings = {
        "producer": "batch.size=10000\nbuffer.memory=250000\n",
        "consumer": "fetch.max.bytes=20000\nmax.partition.fetch.bytes=20000\nmax.poll.records=4\n",
    }
    arguments = {
        "producer": ["--topic", "written", "--record-size", str(len(VALUE)), "--throughput", "-1"],
        "consumer": ["--topic", "read", "--timeout", "600000"],
    }
    properties = folder / f"{client}.properties"
    properties.write_text(f"client.id={client}\n{settings[role]}")
    command = java_command(f"org.apache.kafka.tools.{role.capitalize()}Performance", KAFKA, flags=[*QUICK, "-Xmx128m"])
    command += [*arguments[role], "--bootstrap-server", place.address, "--command-config", str(properties)]
    return [*command, "--num-records", "100000000"]


def answered(place: Place, role: str, client: str, seconds: float) -> list[Answer]:
    """What a client was answered in its first seconds, once these are over."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        found = [answer for answer in place.recorder.answers(client) if answer.api_key == APIS[role]]
        if found and found[-1].at - found[0].at > seconds:
            return [answer for answer in found if answer.at - found[0].at <= seconds]
        assert time.monotonic() < deadline, f"{client} was answered {len(found)} times"
        time.sleep(0.1)


def check_never_ahead(answers: list[Answer]) -> None:
    """What a window allows may pass at once; how slow the client or this machine is changes nothing about it."""
    used, begin = 0, answers[0].requested_at
    for answer in answers:
        used += answer.size
        assert used <= (1 + WITHIN) * RATE * (answer.at - begin + WINDOW_S)


class Rate(NamedTuple):
    """Parts of the quota: of the time, and of the time for which the client was told to wait."""

    by_clock: float
    by_throttle_time: float


def rate(answers: list[Answer]) -> Rate:
    """From the end of the warm-up on, from one answer to another."""
    first, *others, last = [answer for answer in answers if answer.at >= answers[0].at + WARM_UP_S]
    used = sum(answer.size for answer in (*others, last))
    told_s = sum(answer.throttle_ms for answer in (first, *others)) / 1000
    return Rate(used / (last.at - first.at) / RATE, used / max(told_s, 0.001) / RATE)


@pytest.mark.usefixtures("full_topic")
def test_nobody_is_ahead_of_his_quota(place: Place, tmp_path: Path) -> None:
    clients = {role: limited(place, role, f"quick-{role}") for role in KEYS}
    with ExitStack() as stack:
        for role, client in clients.items():
            stack.enter_context(working("librdkafka", role, place, client, tmp_path))
        for role, client in clients.items():
            answers = answered(place, role, client, 4)
            check_never_ahead(answers)
            assert any(answer.throttle_ms for answer in answers)


@takes_long
@pytest.mark.usefixtures("full_topic")
@pytest.mark.parametrize("library", ["Java", "librdkafka", "kafka-python"])
def test_a_client_has_its_quota_and_slows_nobody(place: Place, tmp_path: Path, library: str) -> None:
    clients = {role: limited(place, role, f"{library}-{role}") for role in KEYS}
    steady = f"beside-{library}"
    with ExitStack() as stack:
        stack.enter_context(working("steady", "producer", place, steady, tmp_path))
        for role, client in clients.items():
            stack.enter_context(working(library, role, place, client, tmp_path))
        seen = {role: answered(place, role, client, WARM_UP_S + MEASURED_S) for role, client in clients.items()}
        the_rest = answered(place, "producer", steady, WARM_UP_S + MEASURED_S)
    rates = {role: rate(answers) for role, answers in seen.items()}
    print(f"{library}, in parts of the quota: {rates}; beside them {rate(the_rest).by_clock}")
    for role, answers in seen.items():
        check_never_ahead(answers)
        assert rates[role].by_throttle_time > 1 - WITHIN
        assert any(answer.throttle_ms for answer in answers)
    assert not any(answer.throttle_ms for answer in the_rest)
    assert rate(the_rest).by_clock > 1.2  # twice the quota is its pace
