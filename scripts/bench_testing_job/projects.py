"""What testers wait for: the Kafka tests of public projects, from their packages, with each kind of broker."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.client_suites import UNPACKED
from compat_tests.harness.java import compile_java, java
from compat_tests.security.listeners import USERS, Listeners, SecuredKafka, SecuredPykbroker, certificates
from compat_tests.security.tokens import Issuer
from compat_tests.security.users import add_users
from compat_tests.suites.conftest import AUTHORIZED
from compat_tests.suites.kafka_python.unpacking import unpacked
from scripts.bench_job.brokers import KAFKA_FLAGS
from scripts.bench_testing_job.client import peak_memory
from scripts.bench_testing_job.some_brokers import brokers
from scripts.jars import ROOT, classpath

#: Beside a process: in pytest's own.
IN_PROCESS = "pykbroker in pytest's process"
KINDS = {"pykbroker": "pykbroker as a process", "kafka": "Apache Kafka 4.4.0, a container's heap", "": IN_PROCESS}
_JAVA = Path(__file__).parent / "java_src"
_TOTALS = re.compile(r"(\d+) (passed|failed|error|skipped)")
_WAYS = {0: "one by one", 2: "two workers"}


class Took(NamedTuple):
    """Seconds with the start and the stop of the broker, the broker's peak memory in bytes (None: it is in pytest's), that of the
    largest process of tests, and what became of the tests.
    """

    seconds: float
    broker: int | None
    tests: int
    ended: str


class Project(ABC):
    """A distribution with tests, in one version."""

    name: str
    #: Whether pytest runs it, so that it can be in process and in two workers.
    python = True

    @abstractmethod
    def run(self, folder: Path, kind: str, workers: int) -> Took:
        """Run all of them with a broker of the kind, or in process."""


class PythonProject(Project):
    """A source distribution that pytest runs in the folder where it is unpacked."""

    def __init__(self, name: str, release: str, tests: list[str], *, also: tuple[str, ...] = ()) -> None:
        self.name = f"{name} {release}"
        self._distribution, self._release, self._tests, self._also = name, release, tests, also

    def run(self, folder: Path, kind: str, workers: int) -> Took:
        unpacked_at = self._unpacked()
        command = ["-c", "setup.cfg", "--rootdir", ".", *self._tests]
        if not kind:
            return _pytest(unpacked_at, ["-p", "in_process", *command], workers, {})
        with _one_broker(folder, kind) as (address, peak):
            took = _pytest(unpacked_at, command, workers, _addresses(address))
            return took._replace(broker=peak())

    def _unpacked(self) -> Path:
        folder = UNPACKED / f"{self._distribution.replace('-', '_')}-{self._release}"
        if not (folder / "in_process.py").exists():
            UNPACKED.mkdir(parents=True, exist_ok=True)
            _pip(
                "download",
                "--no-binary",
                self._distribution,
                "--dest",
                str(UNPACKED),
                f"{self._distribution}=={self._release}",
            )
            with tarfile.open(UNPACKED / f"{folder.name}.tar.gz") as archive:
                archive.extractall(UNPACKED, filter="data")
            for package in self._also:
                _pip("install", "--target", str(folder), package)
            self.prepare(folder)
            (folder / "in_process.py").write_text(_IN_PROCESS_PLUGIN)
        return folder

    def prepare(self, folder: Path) -> None:
        """Put in what the distribution leaves out."""


class Arroyo(PythonProject):
    """Sentry's library for stream processing, on confluent-kafka."""

    def prepare(self, folder: Path) -> None:
        (folder / "tests" / "assertions.py").write_text(_ASSERTIONS)


class Kombu(PythonProject):
    """Celery's messaging library; its tests name a port of this machine."""

    def prepare(self, folder: Path) -> None:
        file = folder / "t" / "integration" / "test_kafka.py"
        file.write_text(file.read_text().replace("port='9092'", "port=__import__('os').environ['KAFKA_PORT']"))


class KafkaPython(Project):
    """kafka-python, with listeners for TLS and SASL."""

    name = f"kafka-python {version('kafka-python')}"

    def run(self, folder: Path, kind: str, workers: int) -> Took:
        at = unpacked()
        (at / "in_process.py").write_text(_SECURED_PLUGIN)
        command = ["-c", "suite.ini", "--rootdir", ".", "-p", "running_broker", "test/integration"]
        places = {"KAFKA_VERSION": "4.3.1", "KAFKA_ROOT": str(at)}
        if not kind:
            return _pytest(at, ["-p", "in_process", *command], workers, {**places, "RUNNING_BROKER": "{}"})
        began = time.monotonic()
        listeners = secured_listeners(folder)
        broker = (SecuredPykbroker if kind == "pykbroker" else SecuredKafka)(
            folder / kind, listeners, broker_settings(listeners)
        )
        if isinstance(broker, SecuredKafka):
            broker.flags = [*KAFKA_FLAGS, *broker.flags[-1:]]
        broker.start()
        add_users(broker.bootstrap, {"alice": USERS["alice"]})
        started = time.monotonic() - began
        took = _pytest(at, command, workers, {**places, **secured_environment(folder, listeners)})
        peak = peak_memory(broker.pid)
        broker.stop()
        return took._replace(seconds=took.seconds + started, broker=peak)


class Vertx(Project):
    """Vert.x's Kafka client, whose tests start a cluster for each class, at port 9092."""

    name = "Vert.x Kafka client 5.0.7 (Java)"
    python = False

    def run(self, folder: Path, kind: str, workers: int) -> Took:
        classes = compile_java([_JAVA / "KafkaServer.java", _JAVA / "ZookeeperServer.java"], "vertx-kafka")
        peaks = folder / "peaks"
        broker = f"{sys.executable} -m scripts.bench_testing_job.some_brokers {kind} {peaks}"
        command = [java(), "-Xmx1200M", f"-Dbroker.command={broker}", "-cp", f"{classes}:{classpath('vertx-kafka')}"]
        began = time.monotonic()
        done = subprocess.run(
            [*command, "org.junit.runner.JUnitCore", *VERTX_TESTS],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        ended = re.findall(r"^(?:OK|Tests run).*$", done.stdout, re.MULTILINE)
        return Took(
            seconds, max(map(int, peaks.read_text().split())), _largest_child(), ended[-1] if ended else "no end"
        )


#: Of its tests.
_PACKAGE = "io.vertx.kafka.client"
VERTX_TESTS = [
    f"{_PACKAGE}.common.tracing.TracingTest",
    *(
        f"{_PACKAGE}.tests.{name}Test"
        for name in (
            "AdminClientAcl",
            "AdminClientConfigEntry",
            "AdminClient",
            "Cleanup",
            "Codecs",
            "ConsumerFailedClose",
            "ConsumerMock",
            "Consumer",
            "KafkaHeader",
            "KafkaReadStreamMock",
            "NoCluster",
            "ProducerConsumerContext",
            "ProducerMock",
            "Producer",
            "TopicPartition",
            "TransactionalProducer",
        )
    ),
]
#: What kafka-python's continuous integration gives to Apache Kafka, and what its tests of access lists ask for.
_SETTINGS = {
    **AUTHORIZED,
    "node.id": "0",
    "num.partitions": "4",
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
}
PROJECTS: tuple[Project, ...] = (
    KafkaPython(),
    Arroyo("sentry-arroyo", "2.48.0", ["tests/backends/test_kafka.py", "tests/test_kip848_e2e.py"]),
    Kombu("kombu", "5.7.0", ["t/integration/test_kafka.py"], also=("amqp", "vine", "pytest-rerunfailures")),
    Vertx(),
)


def secured_listeners(folder: Path) -> Listeners:
    """Listeners with certificates in the folder, and the authority's by the name that kafka-python reads."""
    (folder / "tls").mkdir(parents=True)
    listeners = Listeners(certificates(folder, Issuer()))
    (folder / "tls" / "ca-cert").write_bytes(listeners.files.authority.read_bytes())
    return listeners


def broker_settings(listeners: Listeners) -> dict[str, str]:
    """Return kafka-python's, and where clients reach the broker."""
    return {**_SETTINGS, "advertised.listeners": listeners.listeners}


def secured_environment(folder: Path, listeners: Listeners) -> dict[str, str]:
    return {"RUNNING_BROKER": json.dumps(listeners.ports), "RUNNING_BROKER_CERTIFICATES": str(folder / "tls")}


@contextmanager
def _one_broker(folder: Path, kind: str) -> Iterator[tuple[str, _Peak]]:
    [broker] = brokers(kind, folder, {}, 0, 1)
    try:
        yield broker.bootstrap, _Peak(broker.pid)
    finally:
        broker.stop()


class _Peak(NamedTuple):
    pid: int

    def __call__(self) -> int:
        return peak_memory(self.pid)


def _addresses(address: str) -> dict[str, str]:
    return {"DEFAULT_BROKERS": address, "KAFKA_PORT": address.rpartition(":")[2]}


def _pytest(folder: Path, words: list[str], workers: int, environment: Mapping[str, str]) -> Took:
    options = ["-q", "-p", "no:cacheprovider", "-n", str(workers)]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}:{ROOT}", "PYTEST_ADDOPTS": "", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    totals = _TOTALS.findall(done.stdout[-2000:])
    return Took(seconds, None, _largest_child(), ", ".join(" ".join(each) for each in totals) or done.stdout[-300:])


def _largest_child() -> int:
    """Bytes; of all that this process has waited for, which is why each run is a process of its own."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def _pip(what: str, *words: str) -> None:
    command = [sys.executable, "-m", "pip", what, "--quiet", "--disable-pip-version-check", "--no-deps", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


#: A broker with nothing in it for each test.
_IN_PROCESS_PLUGIN = """
import os

import pytest


@pytest.fixture(autouse=True)
def broker_of_this_process(kafka):
    os.environ["DEFAULT_BROKERS"] = kafka.bootstrap_servers
    os.environ["KAFKA_PORT"] = kafka.bootstrap_servers.rpartition(":")[2]
"""
#: One with listeners that are secured, for all tests.
_SECURED_PLUGIN = """
import os
import tempfile
from pathlib import Path

import running_broker
from compat_tests.security.listeners import USERS
from compat_tests.security.users import add_users
from pykbroker.testing import Kafka
from scripts.bench_testing_job.projects import broker_settings, secured_environment, secured_listeners


def pytest_configure(config):
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        return  # workers run the tests
    folder = Path(tempfile.mkdtemp())
    listeners = secured_listeners(folder)
    kafka = Kafka({**listeners.settings, **broker_settings(listeners), "listeners": listeners.listeners}).start()
    config.add_cleanup(kafka.stop)
    add_users(listeners.address("PLAINTEXT"), {"alice": USERS["alice"]})
    os.environ.update(secured_environment(folder, listeners))
    running_broker.PORTS.update(listeners.ports)
"""
#: Said anew: arroyo's distribution leaves this module of its tests out.
_ASSERTIONS = """
from contextlib import contextmanager


@contextmanager
def assert_changes(value, before, after):
    assert value() == before
    yield
    assert value() == after


def assert_does_not_change(value, expected):
    return assert_changes(value, expected, expected)
"""


def compare() -> None:
    """Print a row for each project, way to run its tests, and kind of broker."""
    print("| tests | broker | s | broker's memory | largest process of tests | |\n|---|---|---:|---:|---:|---|")
    for place, project in enumerate(PROJECTS):
        for workers, way in _WAYS.items() if project.python else ((0, "JUnit"),):
            for kind, broker in KINDS.items():
                if kind or project.python:
                    took = _apart(place, kind, workers)
                    peak = "" if took.broker is None else f"{took.broker / 1e6:.0f} MB"
                    memory = f"{peak} | {took.tests / 1e6:.0f} MB"
                    print(
                        f"| {project.name}, {way} | {broker} | {took.seconds:.0f} | {memory} | {took.ended} |",
                        flush=True,
                    )


def _apart(place: int, kind: str, workers: int) -> Took:
    command = [sys.executable, "-m", "scripts.bench_testing_job.projects", str(place), kind, str(workers)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Took(*json.loads(done.stdout.splitlines()[-1]))


def _one(place: str, kind: str, workers: str) -> None:
    with tempfile.TemporaryDirectory(prefix="projects-") as made:
        print(json.dumps(PROJECTS[int(place)].run(Path(made), kind, int(workers))))


if __name__ == "__main__":
    _one(*sys.argv[1:])
