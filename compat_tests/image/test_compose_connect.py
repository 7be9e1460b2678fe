"""The compose file with Kafka Connect, as far as it goes without an engine: its broker in our image, and Apache Kafka's own Connect
with the settings that the file gives to the other image, each in a network of its own.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compat_tests.conftest import takes_long
from compat_tests.harness.java import QUICK, java_command
from compat_tests.harness.process import ROOT
from compat_tests.image.container import PATIENCE_S
from compat_tests.image.engine import Image
from compat_tests.image.networks import ADDRESS, NEIGHBOUR, Networks
from compat_tests.image.test_compose import services

_SERVICES = services(ROOT / "docs" / "compose" / "connect.yaml")
_PREFIX = "CONNECT_"
_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"

#: Puts connectors to Connect's port, waits until what went in has come out, and prints that.
_DRIVER = """
import json, sys, time, urllib.error, urllib.request
from pathlib import Path

def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://localhost:8083{path}", data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)

def patiently(attempt):
    deadline = time.monotonic() + 800
    while True:
        try:
            found = attempt()
            if found:
                return found
        except (OSError, urllib.error.URLError):
            pass
        if time.monotonic() > deadline:
            raise SystemExit(f"nothing came of it: {ask('GET', '/connectors?expand=status')}")
        time.sleep(0.2)

connectors, target, wanted = json.loads(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
patiently(lambda: ask("GET", "/"))
for name, config in connectors.items():
    patiently(lambda: ask("PUT", f"/connectors/{name}/config", config))
patiently(lambda: target.exists() and target.read_text().count("\\n") >= wanted)
print(target.read_text(), end="")
"""


def settings(environment: dict[str, object]) -> dict[str, str]:
    """As the image of Connect makes them: CONNECT_GROUP_ID is group.id."""
    return {
        name.removeprefix(_PREFIX).lower().replace("_", "."): str(value)
        for name, value in environment.items()
        if name.startswith(_PREFIX)
    }


@contextmanager
def connect(networks: Networks, folder: Path) -> Iterator[None]:
    """The worker, in a network of its own, where the broker and it are known by the names of their services."""
    hosts, properties = folder / "hosts", folder / "worker.properties"
    hosts.write_text(f"127.0.0.1 localhost\n{ADDRESS} kafka\n{NEIGHBOUR} connect {socket.gethostname()}\n")
    said = settings(_SERVICES["connect"]["environment"])
    properties.write_text("".join(f"{name}={value}\n" for name, value in said.items()))
    flags = [*QUICK, "-Xmx256m", f"-Djdk.net.hosts.file={hosts}", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    command = [*networks.enter(networks.other), *java_command(_MAIN, "connect", flags=flags), str(properties)]
    with (folder / "worker.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as worker:
        try:
            yield
        finally:
            worker.kill()


@takes_long
def test_records_flow_through_connectors(namespaced: Image, networks: Networks, tmp_path: Path) -> None:
    source, target = tmp_path / "source.txt", tmp_path / "target.txt"
    lines = [f"line {number}" for number in range(100)]
    source.write_text("".join(f"{line}\n" for line in lines))
    connectors = {
        "reads": {
            "connector.class": "FileStreamSource",
            "file": str(source),
            "topic": "lines",
            "topic.creation.default.replication.factor": "1",
            "topic.creation.default.partitions": "1",
        },
        "writes": {"connector.class": "FileStreamSink", "file": str(target), "topics": "lines"},
    }
    namespaced.empty("/var/lib/pykbroker")
    broker = {name: str(value) for name, value in _SERVICES["kafka"]["environment"].items()}
    with (
        namespaced.container(environment=broker, network=networks.enter(networks.broker)) as container,
        connect(networks, tmp_path),
    ):
        container.wait_for("^pykbroker ready")
        driver = [sys.executable, "-c", _DRIVER, json.dumps(connectors), str(target), str(len(lines))]
        done = subprocess.run(
            [*networks.enter(networks.other), *driver], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, done.stderr + (tmp_path / "worker.log").read_text()[-5000:]
        assert done.stdout.splitlines() == lines
        at = ("--bootstrap-server", "localhost:9092")
        listed = container.execute("kafka-topics", *at, "--list").stdout.split()
        assert {"connect-configs", "connect-offsets", "connect-status", "lines"} <= set(listed)
        groups = container.execute("kafka-consumer-groups", *at, "--list").stdout.split()
        assert {"connect", "connect-writes"} <= set(groups)
        container.stop(signal.SIGTERM)
