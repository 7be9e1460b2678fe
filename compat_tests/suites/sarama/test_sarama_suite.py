"""sarama's own functional tests, from its Go module: five brokers with copies, each behind a proxy that cuts connections.

The proxy is toxiproxy, from its Go module too. The suite stops and starts brokers by Docker Compose: here by our own command. It
takes five minutes, most of them waiting, so it runs where SARAMA_TESTS=1 asks for it. Skipped where Go is not installed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.conftest import TARGET
from compat_tests.harness.client_suites import UNPACKED, Excuses, check
from compat_tests.harness.go_cases import GO
from compat_tests.harness.go_tests import module_copy, run_tests
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import ServerProcess
from pykbroker.tests.kit.ports import free_ports

pytestmark = [
    pytest.mark.skipif(GO is None, reason="Go is not installed (on Debian: apt-get install golang)"),
    pytest.mark.skipif(not os.environ.get("SARAMA_TESTS"), reason="takes five minutes: SARAMA_TESTS=1 runs it"),
    pytest.mark.skipif(TARGET == "kafka", reason="five brokers of Apache Kafka are too much for a small machine"),
]

MODULE, VERSION = "github.com/IBM/sarama", "v1.61.1"
PROXY, PROXY_VERSION = "github.com/Shopify/toxiproxy/v2", "v2.5.0"
BROKERS = 5
#: Those of the suite's own brokers.
SETTINGS = {
    "default.replication.factor": "2",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.replication.factor": "2",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
}
LIMIT_S = 1500

_TEST = re.compile(r"^func (Test(?!Main\b)\w+)\(", re.MULTILINE)
_IN_A_CONTAINER = "runs Kafka's tools in a container of its own"
_EXCUSES = {
    "TestFuncJavaInteropCooperativeRebalance|TestJava(Producer|Consumer)CompressionRoundTrip|TestJavaMurmur2PartitionerInterop": (
        _IN_A_CONTAINER
    ),
    "TestReadOnlyAndAllCommittedMessages": "the suite skips it always",
}
_LEFT_OUT = {
    "TestFuncIdempotentBufferedSequence": "reads the log of a container for a name of Java's classes",
    "TestFuncConsumerGroupCooperative/round_trips_messages_while_scaling_the_group": (
        "its client sends fetches for seconds before the SyncGroup that waits, on one connection, and so loses its membership"
    ),
}


class ProxiedBrokers(Pykbroker):
    """Brokers that tell clients the ports of their proxies."""

    def __init__(self, folder: Path, first_proxy: int) -> None:
        super().__init__(folder, SETTINGS, brokers=BROKERS, racks=[str(number + 1) for number in range(BROKERS)])
        self._first_proxy = first_proxy

    def command(self) -> list[str]:
        return [*super().command(), "--advertise", f"{self.host}:{self._first_proxy}"]


class Toxiproxy(ServerProcess):
    """A proxy before each broker, named as the suite names it."""

    name = "toxiproxy"
    log_name = "toxiproxy.log"

    def __init__(self, folder: Path, port: int, first_broker: int) -> None:
        super().__init__(folder)
        self.port = port
        proxies = [
            {
                "name": f"kafka{number + 1}",
                "listen": f"{self.host}:{port + 1 + number}",
                "upstream": f"{self.host}:{first_broker + number}",
                "enabled": True,
            }
            for number in range(BROKERS)
        ]
        self._config = folder / "proxies.json"
        self._config.write_text(json.dumps(proxies))

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def command(self) -> list[str]:
        return [str(_built()), "-host", self.host, "-port", str(self.port), "-config", str(self._config)]

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/proxies") as answer:
                return len(json.load(answer)) == BROKERS
        except urllib.error.URLError:
            return False


def _built() -> Path:
    """The proxy, built once."""
    folder = UNPACKED / f"toxiproxy-{PROXY_VERSION}"
    program = folder / "server"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(GO), "install", f"{PROXY}/cmd/server@{PROXY_VERSION}"]
        subprocess.run(command, env={**os.environ, "GOBIN": str(folder)}, cwd=folder, check=True, capture_output=True)
    return program


def _compose(folder: Path, data_dir: Path) -> Path:
    """A folder with a command that does what the suite asks of Docker Compose: ``docker compose stop kafka-2``, or start.

    To start one that runs is no error there, and so none here.
    """
    ours = shlex.join([sys.executable, "-m", "pykbroker", "brokers"])
    folder.mkdir()
    script = folder / "docker"
    script.write_text(
        f'#!/bin/sh\n{ours} "$2" "${{3#kafka-}}" --data-dir {shlex.quote(str(data_dir))} || [ "$2" = start ]\n'
    )
    script.chmod(0o755)
    return folder


def _with_ports(first: int) -> Path:
    """The module, which takes the ports from ``first`` on for those of its proxies."""
    folder = module_copy(MODULE, VERSION, UNPACKED)
    setup = folder / "functional_test.go"
    setup.write_text(setup.read_text().replace("29090+i", f"{first - 1}+i"))
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[tuple[dict[str, str], int]]:
    """That of the suite, and the port of the first broker's proxy."""
    ports = free_ports(2 * BROKERS + 1)
    proxies = Toxiproxy(tmp_path, ports[BROKERS], ports[0])
    brokers = ProxiedBrokers(tmp_path / "brokers", ports[BROKERS + 1])
    brokers.port = ports[0]
    compose = _compose(tmp_path / "bin", brokers.data_dir)
    try:
        brokers.start()
        proxies.start()
        path = f"{compose}{os.pathsep}{os.environ['PATH']}"
        given = {"PATH": path, "TOXIPROXY_ADDR": proxies.url, "KAFKA_VERSION": "4.3.1", "GOFLAGS": "-tags=functional"}
        yield given, ports[BROKERS + 1]
    finally:
        proxies.stop()
        brokers.stop()


def test_suite(environment: tuple[dict[str, str], int], subtests: pytest.Subtests) -> None:
    given, first = environment
    package = _with_ports(first)
    tests = sorted({name for file in package.glob("functional_*_test.go") for name in _TEST.findall(file.read_text())})
    cases = run_tests(package, tests, given, LIMIT_S, left_out=list(_LEFT_OUT))
    check(cases, Excuses({**_EXCUSES, **_LEFT_OUT}), subtests)
