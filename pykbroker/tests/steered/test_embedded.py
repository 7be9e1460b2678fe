"""A reset or a restore leaves nothing of the former life: what is seen afterwards is what a fresh broker shows."""

from __future__ import annotations

import logging
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from pykbroker.brokers.resources import alter_resources
from pykbroker.client.connection import BrokerConnection
from pykbroker.controller.config_alterations import Alteration, Change
from pykbroker.metadata.image import BROKER_LOGGER_RESOURCE
from pykbroker.testing import Kafka, KafkaCluster
from pykbroker.tests.kit.running import returns
from pykbroker.tests.steered.test_control import tell_blocking
from pykbroker.wire.frames import FrameWriter
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

PATIENCE_S = 20


def in_time(work: Callable[[], object]) -> None:
    """Do something that must come to an end."""
    assert returns(work, PATIENCE_S), "it did not come to an end"


def test_time_moves_after_a_reset_that_came_while_threads_worked() -> None:
    with Kafka(clock="manual") as kafka:
        started, go = threading.Event(), threading.Event()

        def slow() -> None:
            started.set()
            go.wait(PATIENCE_S)

        kafka._embedded.call(lambda: kafka.node.cluster.runtime.offload(slow) and None)
        started.wait(PATIENCE_S)
        threading.Timer(0.2, go.set).start()
        kafka.reset()
        go.wait(PATIENCE_S)
        in_time(lambda: kafka.advance("1s"))
        in_time(lambda: kafka.advance("1s"))


def test_what_a_client_asked_before_a_reset_is_not_done_after_it() -> None:
    """Its connection waits to be accepted, and it is gone, when the reset begins."""
    frame = FrameWriter()
    encode_request_header(frame, RequestHeader(3, 9, 1, "former"))
    MetadataRequest(topics=[MetadataRequestTopic(name="t")]).encode(frame, 9)
    with Kafka() as kafka:
        host, _, port = kafka.bootstrap_servers.rpartition(":")

        async def ask_and_reset() -> None:
            with socket.create_connection((host, int(port)), PATIENCE_S) as former:
                former.sendall(b"".join(frame.finish()))
            await kafka._embedded.snapshots.reset()

        kafka._embedded.begin(ask_and_reset()).result()
        later = BrokerConnection(host, int(port), timeout_s=PATIENCE_S, client_id="later")
        later.close()
        assert {each.client_id for each in kafka.requests()} == {"later"}


@pytest.mark.parametrize("back", ["reset", "restore"])
@pytest.mark.parametrize("abrupt", [False, True])
def test_a_broker_that_was_stopped_is_there_again(back: str, abrupt: bool) -> None:
    with KafkaCluster() as kafka:
        kafka.snapshot("s")
        broker = kafka.broker(2)
        (broker.kill if abrupt else broker.stop)()
        kafka.reset() if back == "reset" else kafka.restore("s")
        host, _, port = kafka.node.addresses()[2].rpartition(":")
        socket.create_connection((host, int(port)), PATIENCE_S).close()
        assert [each["state"] for each in kafka.node.brokers.describe(kafka.node.addresses())] == ["running"] * 3
        broker.stop()
        broker.start()


@pytest.mark.parametrize("back", ["reset", "restore"])
def test_a_broker_that_was_cut_off_is_among_the_others_again(back: str) -> None:
    settings = {"default.replication.factor": 3, "replica.lag.time.max.ms": 3_600_000}
    with KafkaCluster(settings) as kafka:
        kafka.snapshot("s")
        kafka.broker(2).partition_from()
        kafka.reset() if back == "reset" else kafka.restore("s")
        kafka.create_topic("t", 1)
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all"})
        producer.produce("t", b"v")
        assert producer.flush(120) == 0  # all replicas have it: none leaves those in sync for an hour


@pytest.mark.parametrize("back", ["reset", "restore"])
def test_an_altered_listener_is_as_at_the_start(back: str) -> None:
    with Kafka(security="ssl") as kafka:
        kafka.snapshot("s")
        client = kafka.security.client_settings("confluent") if hasattr(kafka.security, "client_settings") else None
        del client
        secured = kafka.node._secured
        assert secured is not None
        admission = secured.admission(1, "SSL")
        assert admission is not None
        before = admission.settings
        kafka.renew_certificate(-1)
        assert admission.settings is not before
        kafka.reset() if back == "reset" else kafka.restore("s")
        assert admission.settings is before


@pytest.mark.parametrize("end", ["reset", "restore", "stop"])
def test_the_level_of_a_logger_is_as_before(end: str) -> None:
    logger = logging.getLogger("pykbroker.network")
    assert logger.level == logging.NOTSET
    with Kafka() as kafka:
        kafka.snapshot("s")

        def alter(level: str) -> None:
            change = Alteration(BROKER_LOGGER_RESOURCE, "1", [Change("pykbroker.network", 0, level)])
            broker = kafka.node.cluster.brokers[1]
            wait = alter_resources(broker, None, [change], loggers=True, validate_only=False)
            assert wait.value == [None]

        kafka._embedded.call(alter, "ERROR")
        kafka._embedded.call(alter, "DEBUG")
        assert logger.level == logging.DEBUG
        if end != "stop":
            kafka.reset() if end == "reset" else kafka.restore("s")
            assert logger.level == logging.NOTSET
    assert logger.level == logging.NOTSET


def test_a_pause_after_a_reset_pauses() -> None:
    with Kafka() as kafka:
        broker = kafka.broker(1)
        broker.pause()
        kafka.reset()
        assert kafka.faults.list() == []
        broker.pause()
        assert len(kafka.faults.list()) == 1
        kafka.faults.clear()
        broker.pause()
        broker.pause()
        assert len(kafka.faults.list()) == 1
        broker.resume()
        assert kafka.faults.list() == []


def test_a_snapshot_is_of_one_moment_whatever_threads_do() -> None:
    with Kafka() as kafka:
        directory = Path(kafka.node.cluster.logs.metadata_directory.path)
        started, go = threading.Event(), threading.Event()

        def two_files() -> None:
            (directory / "one").write_text("1")
            started.set()
            go.wait(PATIENCE_S)
            (directory / "two").write_text("2")

        kafka._embedded.call(lambda: kafka.node.cluster.runtime.offload(two_files) and None)
        started.wait(PATIENCE_S)
        threading.Timer(0.2, go.set).start()
        kafka.snapshot("s")
        kafka.restore("s")
        directory = Path(kafka.node.cluster.logs.metadata_directory.path)
        assert {each.name for each in directory.iterdir()} >= {"one", "two"}


def test_a_snapshot_while_threads_remove_files() -> None:
    with Kafka() as kafka:
        directory = Path(kafka.node.cluster.logs.metadata_directory.path) / "removed"
        started = threading.Event()

        def remove() -> None:
            for _ in range(3):
                for number in range(300):
                    (directory / f"{number % 3}").mkdir(parents=True, exist_ok=True)
                    (directory / f"{number % 3}" / f"{number}").write_bytes(b"")
                started.set()
                shutil.rmtree(directory)

        kafka._embedded.call(lambda: kafka.node.cluster.runtime.offload(remove) and None)
        started.wait(PATIENCE_S)
        for number in range(5):
            kafka.snapshot(f"s{number}")


def test_a_wrong_password_is_answered_while_the_clock_stands_still() -> None:
    with Kafka(security="sasl_plaintext", clock="manual") as kafka:
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        connection = BrokerConnection(host, int(port), timeout_s=PATIENCE_S, client_id="c")
        connection.call(SaslHandshakeRequest("PLAIN"), SaslHandshakeResponse, 1)
        answer = connection.call(SaslAuthenticateRequest(b"\0alice\0wrong"), SaslAuthenticateResponse, 2)
        assert "Authentication failed" in (answer.error_message or "")
        connection.close()


def test_the_control_socket_answers_after_a_reset() -> None:
    with Kafka() as kafka:
        directory = kafka.node.directory
        kafka.snapshot("s")
        for back in (kafka.reset, lambda: kafka.restore("s")):
            back()
            assert kafka.node.summary()["log_dirs"] == [str(directory)]
            (broker,) = tell_blocking(directory, b'{"command": "listBrokers"}')["brokers"]
            assert broker["state"] == "running"


FORKED = """
import os, sys
from pathlib import Path
from pykbroker.testing import Kafka
kafka = Kafka({process}).start()
kept = None if {separate} else Path(kafka.node.summary()["log_dirs"][0])
child = os.fork()
if not child:
    assert not kafka.running
    if {stops}:
        kafka.stop()
    if {own}:
        with Kafka() as own:
            own.create_topic("o")
    sys.exit(7)  # as a test's function, that ends by an exception
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert kept is None or kept.is_dir()
from pykbroker.client.connection import BrokerConnection
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataResponse
host, _, port = kafka.bootstrap_servers.rpartition(":")
connection = BrokerConnection(host, int(port), timeout_s=20, client_id="c")
assert len(connection.call(MetadataRequest(topics=[]), MetadataResponse, 12).brokers) == 1
connection.close()
if not {separate}:
    kafka.reset()
kafka.stop()
print("well")
"""


@pytest.mark.deep(but=2)
@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize(("stops", "own"), [(False, False), (True, False), (False, True)])
def test_a_forked_child_leaves_the_brokers_of_its_parent_alone(separate: bool, stops: bool, own: bool) -> None:
    source = FORKED.format(process="process=True" if separate else "", separate=separate, stops=stops, own=own)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", source], capture_output=True, text=True, timeout=90, check=False
    )
    assert (done.stdout, done.returncode) == ("well\n", 0), done.stderr
