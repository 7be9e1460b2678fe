"""What stock clients write and read under a byte quota, over a time in which windows come and go.

Nobody ever gets ahead of his quota. With ``PYKBROKER_LONG=1`` producers and consumers of three clients measure their rates over
ten seconds: they are within 5 percent of it (Apache Kafka: within 30, for a fetch that is too much is answered empty and
asked again), and a producer beside them that has no quota goes on as fast as it wants. One window, and requests that are small beside the quota: with
Kafka's eleven windows use comes in gusts.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from compat_tests.conftest import LONG, TARGET, make_target, takes_long
from compat_tests.harness.java import QUICK, java_command
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.quotas import alter
from compat_tests.oracle.connection import Connection
from compat_tests.quotas.clients import ON_THE_WIRE, VALUE, WORK

RATE: Final = 1_000_000
#: Of the one window there is.
WINDOW_S: Final = 1
WARM_UP_S: Final = 2.0
MEASURED_S: Final = 10.0
WITHIN: Final = 0.05 if TARGET == "pykbroker" else 0.3
#: Twice its quota is the steady producer's pace.
WANTED: Final = {
    "producer": pytest.approx(1, rel=WITHIN),
    "consumer": pytest.approx(1, rel=WITHIN),
    "steady": pytest.approx(2, rel=0.05),
}
ATTEMPTS: Final = 4
KEYS: Final = {"producer": "producer_byte_rate", "consumer": "consumer_byte_rate"}
STEADY: Final = "steady producer"

#: Seconds, and bytes so far.
Points = list[tuple[float, float]]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    broker = make_target(tmp_path_factory.mktemp("quotas"), {"quota.window.num": "1"})
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def full_topic(broker: BrokerProcess) -> str:
    """A topic with more records than a consumer with a quota reads here, one in each batch."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.size": len(VALUE)})
    for _ in range(int(RATE * (30 if LONG else 6) / len(VALUE))):
        producer.produce("read", VALUE, partition=0)
    assert producer.flush(120) == 0
    return "read"


def limited(broker: BrokerProcess, role: str, client: str) -> str:
    """The client's id, which has a quota from now on."""
    connection = Connection(broker.bootstrap)
    connection.ask(alter(([("client-id", client)], [(KEYS[role], float(RATE))])), 1)
    connection.close()
    return client


def started(work: str, broker: BrokerProcess, client: str, seconds: float) -> subprocess.Popen[str]:
    library, role = work.split()
    topic = "read" if role == "consumer" else f"written-{client}"
    command = [sys.executable, "-m", "compat_tests.quotas.clients"]
    command += [library, role, broker.bootstrap, client, topic, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def points_of(process: subprocess.Popen[str]) -> Points:
    said, _ = process.communicate(timeout=300)
    return [(at, size) for at, size in json.loads(said)]


def check_never_ahead(points: Points) -> None:
    """What a window allows may pass at once; how slow the client or this machine is changes nothing about it."""
    assert points[-1][1] > 0
    assert not [(at, size) for at, size in points if size > 1.05 * RATE * (at + WINDOW_S)]


def rate(points: Points) -> float:
    """Bytes per second from the end of the warm-up on."""
    first = next(at for at, size in points if size)
    begin = next(point for point in points if point[0] >= first + WARM_UP_S)
    end = points[-1]
    return (end[1] - begin[1]) / (end[0] - begin[0])


@pytest.mark.usefixtures("full_topic")
def test_nobody_is_ahead_of_his_quota(broker: BrokerProcess) -> None:
    works = {work: limited(broker, work.split()[1], work.replace(" ", "-")) for work in WORK if "librdkafka" in work}
    processes = [started(work, broker, client, 4) for work, client in works.items()]
    for process in processes:
        check_never_ahead(points_of(process))


@takes_long
@pytest.mark.usefixtures("full_topic")
@pytest.mark.parametrize("library", ["Java", "librdkafka", "kafka-python"])
def test_a_client_has_its_quota_and_slows_nobody(broker: BrokerProcess, tmp_path: Path, library: str) -> None:
    """Tried again where it is slower: others on this machine can make it so, and nobody can make it faster."""
    for attempt in range(ATTEMPTS):
        rates = measured(broker, tmp_path, library, attempt)
        print(f"{library}, in parts of the quota: {rates}")
        if rates == WANTED:
            return
    assert rates == WANTED


def measured(broker: BrokerProcess, folder: Path, library: str, attempt: int) -> dict[str, float]:
    """Parts of the quota that a producer and a consumer had, and a steady producer without one beside them."""
    seconds = WARM_UP_S + MEASURED_S + 3
    clients = {role: limited(broker, role, f"{library}-{role}-{attempt}") for role in KEYS}
    steady = started(STEADY, broker, f"beside-{library}-{attempt}", seconds)
    if library == "Java":
        tools = {role: JavaClient(role, broker, client, folder) for role, client in clients.items()}
        seen = {role: tool.points() for role, tool in tools.items()}
    else:
        processes = {role: started(f"{library} {role}", broker, client, seconds) for role, client in clients.items()}
        seen = {role: points_of(process) for role, process in processes.items()}
    for points in seen.values():
        check_never_ahead(points)
    return {role: rate(points) / RATE for role, points in [*seen.items(), ("steady", points_of(steady))]}


# ---- Kafka's own client, by the tools that measure it


class JavaClient:
    """One of the tools. It says each second what it wrote or read."""

    def __init__(self, role: str, broker: BrokerProcess, client: str, folder: Path) -> None:
        properties = folder / f"{client}.properties"
        settings = {
            "producer": "batch.size=10000\nbuffer.memory=250000\n",
            "consumer": "fetch.max.bytes=20000\nmax.partition.fetch.bytes=20000\nmax.poll.records=4\n",
        }
        properties.write_text(f"client.id={client}\n{settings[role]}")
        arguments = {
            "producer": ["--topic", "written", "--record-size", str(len(VALUE)), "--throughput", "-1"],
            "consumer": ["--topic", "read", "--show-detailed-stats", "--hide-header", "--timeout", "600000"],
        }
        tool = f"org.apache.kafka.tools.{role.capitalize()}Performance"
        command = java_command(tool, "kafka", flags=[*QUICK, "-Xmx128m"]) + arguments[role]
        command += ["--bootstrap-server", broker.bootstrap, "--command-config", str(properties)]
        command += ["--num-records", "100000000", "--reporting-interval", "1000"]
        self._begin = time.monotonic()
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._points: Points = [(0.0, 0)]
        self._read = _written_so_far if role == "producer" else _read_so_far
        self._reading = threading.Thread(target=self._follow)
        self._reading.start()

    def _follow(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            records = self._read(line, self._points[-1][1] // ON_THE_WIRE)
            if records is not None:
                self._points.append((time.monotonic() - self._begin, records * ON_THE_WIRE))
            if self._points[-1][0] - self._points[min(1, len(self._points) - 1)][0] > WARM_UP_S + MEASURED_S:
                self._process.kill()

    def points(self) -> Points:
        """Waits for as many as are wanted."""
        self._reading.join(300)
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._points


def _written_so_far(line: str, before: int) -> int | None:
    found = re.match(r"(\d+) records sent", line)
    return None if found is None else before + int(found[1])


def _read_so_far(line: str, _before: int) -> int | None:
    columns = line.split(", ")
    return int(columns[4]) if len(columns) == 10 else None
