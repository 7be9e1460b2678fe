"""What an engine alone has: published ports, volumes, checks of health, a read-only root."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.harness import memory_crowd
from compat_tests.harness.memory_crowd import Address
from compat_tests.image import real
from compat_tests.image.container import PATIENCE_S
from compat_tests.image.real import RealContainer, RealImage

STARTED = r"Kafka Server started"


def test_engines_are_asked() -> None:
    """One line says so where none answers, and the other tests run in namespaces."""
    if not real.engines():
        pytest.skip("no engine answers (docker info, podman info): the image ran in namespaces of this process alone")


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def volume(real_image: RealImage) -> Iterator[str]:
    name = f"pykbroker-tests-{time.monotonic_ns()}"
    yield name
    real_image.engine.run("volume", "rm", "--force", name)


def well(container: RealContainer) -> str:
    """The health that the check of the image has found, after its first probe."""
    deadline = time.monotonic() + PATIENCE_S
    while container.health() == "starting" and time.monotonic() < deadline:
        time.sleep(0.2)
    return container.health()


def produced(bootstrap: str) -> str:
    """Where the broker is, as it tells a client of this machine, which then writes there."""
    settings = {"bootstrap.servers": bootstrap, "broker.address.family": "v4"}
    (broker,) = AdminClient(settings).list_topics(timeout=60).brokers.values()
    producer = Producer(settings)
    producer.produce("orders", b"tea")
    assert producer.flush(60) == 0
    return f"{broker.host}:{broker.port}"


def test_the_host_is_told_an_address_that_it_reaches(real_image: RealImage, port: int) -> None:
    listeners = {"KAFKA_LISTENERS": f"PLAINTEXT://:{port}"}
    with real_image.container(environment=listeners, options=[f"--publish={port}:{port}"]) as container:
        container.wait_for(STARTED)
        assert produced(f"localhost:{port}") == f"localhost:{port}"


@pytest.mark.parametrize("way", ["variables", "serve"])
def test_a_port_of_the_host_that_is_another_is_advertised(real_image: RealImage, port: int, way: str) -> None:
    """As docs/docker.md has it."""
    advertised = f"localhost:{port}"
    command = ["serve", "--advertise", advertised] if way == "serve" else []
    variables = {
        "KAFKA_LISTENERS": "PLAINTEXT://:9092",
        "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://{advertised}",
    }
    environment = {} if way == "serve" else variables
    with real_image.container(*command, environment=environment, options=[f"--publish={port}:9092"]) as container:
        container.wait_for(STARTED)
        assert produced(advertised) == advertised


@pytest.mark.parametrize(
    ("point", "directory"),
    [
        ("/var/lib/pykbroker", "/var/lib/pykbroker/data"),
        ("/var/lib/kafka/data", "/var/lib/kafka/data"),
        ("/tmp/kraft-combined-logs", "/tmp/kraft-combined-logs"),
    ],
)
def test_a_named_volume_keeps_data(real_image: RealImage, volume: str, point: str, directory: str) -> None:
    topic = ("kafka-topics", "--bootstrap-server", "localhost:9092")
    for step in (["--create", "--topic", "orders"], ["--list"]):
        with real_image.container(options=[f"--volume={volume}:{point}"]) as container:
            container.wait_for(STARTED)
            done = container.execute(*topic, *step)
            assert done.returncode == 0, done.stderr
            assert "orders" in done.stdout
            assert f"Log directory {directory} " in "\n".join(container.lines)
            assert "does not outlive" not in "\n".join(container.lines)
            container.stop(15)


def test_data_that_is_lost_is_foretold(real_image: RealImage) -> None:
    with real_image.container() as container:
        assert "/var/lib/pykbroker/data is in an anonymous volume" in container.wait_for("does not outlive")
    with real_image.container(environment={"KAFKA_LOG_DIRS": "/tmp/logs"}) as container:
        assert "/tmp/logs is in the container" in container.wait_for("does not outlive")


def test_a_volume_that_cannot_be_written_ends_it_in_words(real_image: RealImage, volume: str) -> None:
    settings = {"KAFKA_LOG_DIRS": "/nowhere"}
    with real_image.container(environment=settings, options=[f"--volume={volume}:/nowhere"]) as container:
        said = container.wait_for(f"A volume at a path that the image lacks|{STARTED}")
        if STARTED not in said:  # Podman gives the volume to the container's user
            assert "for user 1000" in said
            assert container.ended() == 2


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ((), {}),
        ((), {"PYKBROKER_HTTP": "off"}),
        (("serve", "--listen", "0.0.0.0:9094", "--advertise", "localhost:9094"), {}),
    ],
    ids=["HTTP", "HTTP off", "serve"],
)
def test_it_is_well(real_image: RealImage, command: tuple[str, ...], environment: dict[str, str]) -> None:
    with real_image.container(*command, environment=environment) as container:
        container.wait_for(STARTED)
        assert well(container) == ("healthy" if real_image.is_checked() else ""), container.lines


@pytest.mark.parametrize(
    "folder", ["/tmp/kraft-combined-logs", "/tmp/kafka-logs", "/tmp/others", "/var/lib/kafka/data", "/data"]
)
def test_any_user_may_keep_data_in_the_folders_of_other_images(real_image: RealImage, folder: str) -> None:
    for user in (None, "12345"):
        with real_image.container(user=user, environment={"KAFKA_LOG_DIRS": folder}) as container:
            container.wait_for(STARTED)


def test_its_root_may_be_read_only(real_image: RealImage) -> None:
    with real_image.container(options=["--read-only"]) as container:
        container.wait_for(STARTED)
        done = container.execute("python", "-P", "-m", "pykbroker.container", "health")
        assert (done.returncode, done.stdout) == (0, '{"status": "ready"}\n'), done.stderr
        assert container.execute("pykbroker", "brokers", "list").returncode == 0
        container.stop(15)


def test_its_user_is_a_number(real_image: RealImage) -> None:
    assert real_image.engine.inspect(real_image.tag)["Config"]["User"] == "1000:1000"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_an_option_is_the_first_word_that_is_said(real_image: RealImage, option: str) -> None:
    with real_image.container(option) as container:
        assert container.ended() == 0
        container.wait_for("ykbroker")
        assert not [line for line in container.lines if "entry" in line]


def test_a_jaas_file_of_the_options_of_a_jvm(real_image: RealImage) -> None:
    """Apache Kafka's compose file with SASL."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    real_image.empty()
    real_image.write(
        "/etc/kafka/secrets/broker_jaas.conf",
        f'KafkaServer {{\n {login}\n username="admin" password="a" user_admin="a" user_alice="alice-secret";\n}};\n',
    )
    real_image.write(
        "/tmp/client.properties",
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={login} username="alice" password="alice-secret";\n',
    )
    environment = {
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_PLAINTEXT_HOST:SASL_PLAINTEXT",
        "KAFKA_ADVERTISED_LISTENERS": "SASL_PLAINTEXT_HOST://localhost:9094,SASL_PLAINTEXT://broker:19094",
        "KAFKA_LISTENERS": "CONTROLLER://:29093,SASL_PLAINTEXT_HOST://:9094,SASL_PLAINTEXT://:19094",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "SASL_PLAINTEXT",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@broker:29093",
        "KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN",
        "KAFKA_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "PLAIN",
        "KAFKA_OPTS": "-Djava.security.auth.login.config=/etc/kafka/secrets/broker_jaas.conf",
    }
    with real_image.container(environment=environment) as container:
        real_image.empty()
        container.wait_for(STARTED)
        listed = container.execute(
            "kafka-topics",
            "--bootstrap-server",
            "localhost:9094",
            "--command-config",
            "/tmp/client.properties",
            "--list",
        )
        assert listed.returncode == 0, listed.stderr


def caught_up(settings: dict[str, str], partitions: int, expected: int) -> int:
    """The records of all partitions that a consumer gets from their beginning; less than expected where none comes any more."""
    consumer = Consumer({**settings, "group.id": "crowd"})
    consumer.assign([TopicPartition("large", partition, OFFSET_BEGINNING) for partition in range(partitions)])
    found = 0
    while found < expected and (messages := consumer.consume(min(16, expected - found), 60)):
        found += sum(message.error() is None for message in messages)
    consumer.close()
    return found


@pytest.fixture
def small(real_image: RealImage, port: int) -> Iterator[Address]:
    """A broker in 128 MB, which is alive at the end."""
    options = [f"--publish={port}:{port}", "--memory=128m", "--memory-swap=128m"]
    with real_image.container(environment={"KAFKA_LISTENERS": f"PLAINTEXT://:{port}"}, options=options) as container:
        container.wait_for(STARTED)
        yield Address("127.0.0.1", port)
        state = real_image.engine.inspect(container.name)["State"]
        assert (state["Running"], state["OOMKilled"]) == (True, False)


def test_consumers_that_catch_up_on_more_than_the_container_has(small: Address) -> None:
    """Eight read 400 MB each, for which a broker once took eleven each."""
    records, partitions, consumers = 800, 16, 8
    settings = {"bootstrap.servers": f"localhost:{small.port}", "broker.address.family": "v4"}
    admin, producer = AdminClient(settings), Producer(settings)
    admin.create_topics([NewTopic("large", partitions, 1)])["large"].result(60)
    for number in range(records):
        producer.produce("large", os.urandom(500_000), partition=number % partitions)
        assert producer.flush(60) == 0
    with ThreadPoolExecutor(consumers) as crowd:
        found = list(crowd.map(lambda _: caught_up(settings, partitions, records), range(consumers)))
    assert found == [records] * consumers


def test_a_hundred_consumers_at_once(small: Address) -> None:
    """Whose answers are ten times what the container has."""
    memory_crowd.fill(small)
    crowd = memory_crowd.consumers(small)
    crowd.run()
    assert crowd.served == [memory_crowd.BATCHES] * memory_crowd.CONSUMERS
