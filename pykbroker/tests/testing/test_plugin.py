"""The pytest plugin, found by its entry point, in runs of pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pykbroker.runtime.escaping import escaped_layout

USES_KAFKA = """
from confluent_kafka import Producer

def produce(kafka, topic, value):
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "the-client"})
    producer.produce(topic, value)
    assert producer.flush(20) == 0
"""


def run(folder: Path, tests: str, *options: str, head: str = USES_KAFKA) -> tuple[int, str]:
    """The status and the output of pytest over a file with these tests."""
    (folder / "test_it.py").write_text(head + tests)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        # Hypothesis's plugin, which is for nothing here, is half of such a run's start.
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "TMPDIR": str(temporary), "PYTEST_ADDOPTS": ""},
    )
    assert [each.name for each in temporary.iterdir() if not each.name.startswith("pytest-")] == []
    return done.returncode, done.stdout + done.stderr


def test_each_test_gets_a_clean_broker(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import pytest
seen = []

@pytest.mark.parametrize("number", range(3))
def test_it(kafka, kafka_bootstrap, number):
    assert kafka_bootstrap == kafka.bootstrap_servers
    assert kafka.topics() == {} and kafka.requests() == []
    produce(kafka, "t", b"v")
    assert [each.value for each in kafka.records("t")] == [b"v"]
    seen.append(kafka_bootstrap)

def test_it_was_one_broker():
    assert len(seen) == 3 and len(set(seen)) == 1
""",
    )
    assert (status, "4 passed" in output) == (0, True), output


def test_settings_come_by_marker(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import pytest
pytestmark = pytest.mark.kafka(num_partitions=2, auto_create_topics_enable=True)

def test_of_the_module(kafka):
    produce(kafka, "t", b"v")
    assert kafka.topics() == {"t": 2}

@pytest.mark.kafka({"num.partitions": 5}, brokers=2)
def test_of_its_own(kafka):
    produce(kafka, "t", b"v")
    assert kafka.topics() == {"t": 5}
    assert len(kafka.bootstrap_servers.split(",")) == 2

def test_of_a_cluster(kafka_cluster, kafka):
    assert len(kafka_cluster.bootstrap_servers.split(",")) == 3
    assert kafka.bootstrap_servers not in kafka_cluster.bootstrap_servers
""",
    )
    assert (status, "3 passed" in output) == (0, True), output


@pytest.mark.deep
def test_the_release_comes_by_marker(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import pytest

def level(kafka):
    return kafka.node.cluster.metadata.image.features["metadata.version"]

@pytest.mark.kafka(as_version="3.9")
def test_of_then(kafka):
    assert level(kafka) == 21

def test_of_now(kafka):
    assert level(kafka) == 33

@pytest.mark.kafka(as_version="3.9", num_partitions=2)
def test_of_then_with_settings(kafka_cluster):
    assert level(kafka_cluster) == 21

@pytest.mark.kafka(as_version="3.0")
def test_of_none(kafka): ...
""",
    )
    assert (status, "3 passed, 1 error" in output) == (1, True), output
    assert "there is no Kafka '3.0' to be taken for; write one of 2.8, 3.9, 4.3, 4.4" in output


@pytest.mark.deep
def test_a_seed_comes_by_marker_from_beside_the_test(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("key,value\nk,v\n")
    status, output = run(
        tmp_path,
        """
import pytest

@pytest.mark.parametrize("number", range(2))
@pytest.mark.kafka(seed="orders.csv")
def test_a_file(kafka, number):
    assert [each.text for each in kafka.records("orders")] == ["v"]
    kafka.produce("orders", "more")

@pytest.mark.kafka(seed={"topics": {"t": {"replication_factor": 3}}})
def test_an_object(kafka_cluster):
    assert kafka_cluster.topics() == {"t": 1}

def test_none(kafka):
    assert kafka.topics() == {}

@pytest.mark.kafka(seed={"topics": {"t": [{"valu": "v"}]}})
def test_bad(kafka): ...
""",
    )
    assert (
        status,
        "4 passed, 1 error" in output,
        "BadSeed: seed['topics']['t'][0]['valu']: there is no" in output,
    ) == (
        *(1, True),
        True,
    ), output


@pytest.mark.deep
def test_bad_markers_say_what_to_write(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import pytest

@pytest.mark.kafka(num_partitons=2)
def test_unknown(kafka): ...

@pytest.mark.kafka("num.partitions=2")
def test_text(kafka): ...

@pytest.mark.kafka(brokers="three")
def test_brokers(kafka): ...
""",
    )
    assert status == 1
    assert "did you mean num.partitions?" in output
    assert "takes settings by keyword (num_partitions=3) or as one dictionary" in output
    assert "is a number of brokers from 1 on, not 'three'" in output


def test_the_report_of_a_failed_test_shows_requests_and_log(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
def test_passes(kafka):
    produce(kafka, "of-another-test", b"v")

def test_fails(kafka, caplog):
    produce(kafka, "orders", b"v")
    assert caplog.records == []
    assert False
""",
    )
    assert status == 1
    assert "kafka: the last requests at call" in output
    assert "the-client -> broker 1: Produce v" in output
    assert "orders: ok after" in output
    assert "kafka: the last log lines at call" in output
    assert "of-another-test" not in output.partition("the last requests")[2].partition("the last log lines")[0]


@pytest.mark.deep
def test_the_report_hands_on_nothing_that_acts_on_a_terminal(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        r"""
from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.client.offsets import TopicPartition, commit_offsets

def test_fails(kafka):
    kafka.create_topic("t")
    name = "x\x1b]52;c;cHduZWQ=\x07\x9b2J\nFORGED\u202e\u200b"
    with Client(parse_bootstrap(kafka.bootstrap_servers), timeout_s=20, client_id=name) as client:
        commit_offsets(client, name, {TopicPartition("t", 0): 0})
    assert False
""",
        "--log-level=INFO",
    )
    assert status == 1
    shown = output.partition("Captured log call")[2]  # of pytest itself; requests and log lines of the plugin follow
    assert r"x\x1b]52;c;cHduZWQ=\x07\x9b2J\nFORGED\u202e\u200b" in shown
    assert escaped_layout(shown) == shown
    assert "\nFORGED" not in shown


@pytest.mark.deep
def test_what_is_not_served_fails_a_test_that_wants_it_so(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import pytest, socket, struct

def send_unserved(kafka):
    host, port = kafka.bootstrap_servers.split(":")
    with socket.create_connection((host, int(port))) as connection:
        frame = struct.pack(">hhih", 57, 0, 7, 2) + b"me" + bytes(20)
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        assert connection.recv(1) == b""

@pytest.mark.kafka(served_only=True)
def test_wants(kafka):
    send_unserved(kafka)

def test_does_not_mind(kafka):
    send_unserved(kafka)
    [request] = kafka.unserved()
    assert (request.client_id, request.correlation_id) == ("me", 7)
""",
    )
    assert "1 error" in output
    assert "2 passed" in output
    assert "clients sent what is not served" in output
    assert status == 1


def test_what_a_test_leaves_does_not_reach_the_next(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import pytest

def test_leaves_much(kafka):
    kafka.snapshot("of another")
    kafka.disk.fill()
    kafka.faults.add("Fetch topic=nobody drop")

def test_finds_nothing(kafka):
    produce(kafka, "t", b"v")
    assert kafka.faults.list() == []
    with pytest.raises(LookupError, match="none was made"):
        kafka.restore("of another")

    kafka.stop()

def test_finds_it_started(kafka):
    assert kafka.topics() == {}

@pytest.mark.kafka(strict_faults=True)
def test_is_strict(kafka):
    kafka.faults.add("Fetch topic=nobody_else drop")

@pytest.mark.kafka(clock="manual")
def test_moves_time(kafka):
    kafka.advance("2h")
""",
    )
    assert (status, "5 passed, 1 warning, 1 error" in output) == (1, True), output
    warned = output.partition("warnings summary")[2]
    assert "test_leaves_much\n" in warned, output
    assert "faults that matched no request: 'Fetch topic=nobody drop'" in warned, output
    assert "ERROR test_it.py::test_is_strict" in output, output
    assert "faults that matched no request: 'Fetch topic=nobody_else drop'" in output, output


@pytest.mark.deep
def test_workers_have_a_broker_each(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import pytest

@pytest.mark.parametrize("number", range(12))
def test_it(kafka, number):
    assert kafka.topics() == {}
    produce(kafka, "t", b"%d" % number)
    assert [each.value for each in kafka.records("t")] == [b"%d" % number]
""",
        *("-p", "xdist", "-n", "3"),
    )
    assert (status, "12 passed" in output) == (0, True), output


@pytest.mark.deep
def test_coroutines_use_it(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import pytest
from aiokafka import AIOKafkaProducer

@pytest.mark.asyncio
async def test_it(kafka):
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    await producer.start()
    await producer.send_and_wait("t", b"v")
    await producer.stop()
    assert (await kafka.aio.wait_for_record("t")).value == b"v"
""",
        head="",
    )
    assert (status, "1 passed" in output) == (0, True), output


@pytest.mark.deep
def test_an_interrupted_run_leaves_nothing_behind(tmp_path: Path) -> None:
    status, output = run(tmp_path, "def test_it(kafka):\n    raise KeyboardInterrupt\n")
    assert status == pytest.ExitCode.INTERRUPTED, output


def test_unittest_and_plain_scripts_work_without_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_unit.py").write_text("""
import sys, unittest
from pykbroker.testing import Kafka

class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kafka = cls.enterClassContext(Kafka())

    def test_it(self):
        self.kafka.produce("t", "v")
        self.assertEqual([each.text for each in self.kafka.records("t")], ["v"])
        self.assertNotIn("pytest", sys.modules)

    def test_it_again(self):
        self.kafka.reset()
        self.assertEqual(self.kafka.topics(), {})
""")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "unittest", "-v", "test_unit"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, "Ran 2 tests" in done.stderr) == (0, True), done.stderr


def test_a_run_without_kafka_imports_nothing_of_it(tmp_path: Path) -> None:
    status, output = run(
        tmp_path,
        """
import sys

def test_it():
    loaded = [name for name in sys.modules if name.split(".")[0] == "pykbroker"]
    assert sorted(loaded) == ["pykbroker", "pykbroker.pytest_plugin"]
    assert "uvloop" not in sys.modules
""",
        head="",
    )
    assert status == 0, output


MARKS = """
def pytest_load_initial_conftests(early_config):
    early_config.pluginmanager.rewrite_hook.mark_rewrite("pykbroker")
"""


@pytest.mark.deep
def test_the_brokers_own_asserts_are_not_rewritten(tmp_path: Path) -> None:
    """pytest marks every module of a distribution that brings a plugin, where it is installed as a wheel."""
    (tmp_path / "marks.py").write_text(MARKS)
    status, output = run(
        tmp_path,
        """
import sys

def test_it(kafka):
    ours = [module for name, module in sys.modules.items() if name.startswith("pykbroker.")]
    ours.remove(sys.modules["pykbroker.pytest_plugin"])  # which pytest may load before the plugin can say anything
    assert [each.__name__ for each in ours if "Rewrit" in type(each.__spec__.loader).__name__] == []
""",
        *("-p", "marks", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
        head="",
    )
    assert status == 0, output
