"""What Testcontainers' Kafka modules do to a container, one by one: variables, command, start script, the line that they wait for.

That of Python is its own (the package makes it); the others are said here as their sources have it.
"""

from __future__ import annotations

import socket
import warnings
from dataclasses import dataclass, field
from typing import Any

_HOST = socket.gethostname()
RUNNING = r".*Transitioning from RECOVERY to RUNNING.*"
OVER_ZOOKEEPER = r".*\[KafkaServer id=\d+\] started.*"
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


@dataclass(frozen=True)
class Module:
    """``port`` is the listener for clients outside. With ``written_inside`` a command in the container writes the script."""

    name: str
    environment: dict[str, str]
    path: str
    script: str
    awaited: str = RUNNING
    port: int = 9092
    entry: list[str] | None = None
    command: list[str] = field(default_factory=list)
    written_inside: bool = False

    def words(self) -> list[str]:
        """What the container is told to run until the script is there."""
        return self.command or ["sh", "-c", f"while [ ! -f {self.path} ]; do sleep 0.1; done; {self.path}"]


def _kraft(port: int, inner: int, *, host: str = "0.0.0.0") -> dict[str, str]:
    return {
        "CLUSTER_ID": CLUSTER_ID,
        "KAFKA_LISTENERS": f"PLAINTEXT://{host}:{port},BROKER://{host}:{inner},CONTROLLER://{host}:9094",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_NODE_ID": "1",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
        **_COMMON,
    }


def _zookeeper() -> dict[str, str]:
    return {
        "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
        "KAFKA_BROKER_ID": "1",
        **_COMMON,
    }


_COMMON = {
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": str(2**63 - 1),
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}


def _advertise(port: int, inner: int) -> str:
    return f"export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:{port},BROKER://{_HOST}:{inner}\n"


def _of_go() -> dict[str, str]:
    """It names no cluster: its script has one made."""
    own = {"KAFKA_BROKER_ID": "1", "KAFKA_REST_BOOTSTRAP_SERVERS": _kraft(9093, 9092)["KAFKA_LISTENERS"]}
    return {name: value for name, value in _kraft(9093, 9092).items() if name != "CLUSTER_ID"} | own


#: The cluster's id is made where the line is run.
_FORMAT_OF_GO = (
    "sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\n"
    "echo 'kafka-storage format --ignore-formatted -t \"$(kafka-storage random-uuid)\" -c /etc/kafka/kafka.properties' "
    ">> /etc/confluent/docker/configure\n"
)


def _of_node(*, kraft: bool) -> dict[str, str]:
    """Before the script exports another, one listener alone is advertised."""
    named = {**(_kraft(9093, 9092) if kraft else _zookeeper()), "KAFKA_BROKER_ID": "1"}
    named |= {
        "KAFKA_ADVERTISED_LISTENERS": "BROKER://localhost:9092",
        "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE": "false",
    }
    return named if kraft else {**named, "KAFKA_ZOOKEEPER_CONNECT": "localhost:2181"}


def _user_of_node() -> str:
    return (
        f'echo \'kafka-storage format --ignore-formatted -t "{CLUSTER_ID}" -c /etc/kafka/kafka.properties '
        '--add-scram "SCRAM-SHA-256=[name=app-user,password=userPassword]"\' >> /etc/confluent/docker/configure\n'
    )


_ZOOKEEPER_OF_NODE = (
    "echo 'clientPort=2181' > zookeeper.properties\n"
    "echo 'dataDir=/var/lib/zookeeper/data' >> zookeeper.properties\n"
    "echo 'dataLogDir=/var/lib/zookeeper/log' >> zookeeper.properties\n"
    "zookeeper-server-start zookeeper.properties &\n"
)


def _with_another(environment: dict[str, str]) -> dict[str, str]:
    """As ``withListener("localhost:19092")`` has it; the order is whatever a set makes of it."""
    listeners, protocols = environment["KAFKA_LISTENERS"], environment["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"]
    return {
        **environment,
        "KAFKA_LISTENERS": f"TC-0://localhost:19092,{listeners}",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": f"{protocols},TC-0:PLAINTEXT",
    }


def _format() -> str:
    """A line more for the script that configures."""
    line = f"kafka-storage format --ignore-formatted -t {CLUSTER_ID} -c /etc/kafka/kafka.properties"
    return f"sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\necho \"{line}\" >> /etc/confluent/docker/configure\n"


def modules() -> list[Module]:
    """All but Python's."""
    script = "/tmp/testcontainers_start.sh"
    by_run = f"#!/bin/bash\n{_advertise(9092, 9093)}"
    zookeeper = (
        "printf 'clientPort=2181\\ndataDir=/var/lib/zookeeper/data\\n' > /tmp/zookeeper.properties\n"
        "zookeeper-server-start /tmp/zookeeper.properties &\nexport KAFKA_ZOOKEEPER_CONNECT='localhost:2181'\n"
    )
    ensure = "echo '' > /etc/confluent/docker/ensure\n"
    old = f"#!/bin/bash\n{_advertise(9093, 9092)}"
    in_steps = "/etc/confluent/docker/configure\n/etc/confluent/docker/launch\n"
    of_node = f"#!/bin/bash\n{_advertise(9093, 9092)}"
    for_node = ["-c", f"echo 'Waiting for script...'; while [ ! -f {script} ]; do sleep 0.1; done; {script}"]
    go = "/usr/sbin/testcontainers_start.sh"
    rust = "/opt/kafka/testcontainers_start.sh"
    return [
        Module("Java", _kraft(9092, 9093), script, by_run + "/etc/kafka/docker/run\n"),
        Module("Java, Confluent", _kraft(9092, 9093), script, by_run + "/etc/confluent/docker/run\n"),
        Module("Java, before, ZooKeeper", _zookeeper(), script, old + zookeeper + ensure + "/etc/confluent/docker/run\n",
               OVER_ZOOKEEPER, 9093, ["sh"], ["-c", f"while [ ! -f {script} ]; do sleep 0.1; done; {script}"]),
        Module("Java, before, KRaft", _kraft(9093, 9092), script, old + _format() + ensure + "/etc/confluent/docker/run\n",
               RUNNING, 9093, ["sh"], ["-c", f"while [ ! -f {script} ]; do sleep 0.1; done; {script}"]),
        Module("Go", _of_go(), go, f"#!/bin/bash\nsource /etc/confluent/docker/bash-config\n{_advertise(9093, 9092)}{_FORMAT_OF_GO}{ensure}{in_steps}",
               RUNNING, 9093, ["sh"], ["-c", f"while [ ! -f {go} ]; do sleep 0.1; done; bash {go}"]),
        Module("Node", _of_node(kraft=True), script, f"{of_node}/etc/confluent/docker/run \n", RUNNING, 9093, ["sh"], for_node),
        Module("Node, a user", _of_node(kraft=True), script, f"{of_node}{_user_of_node()}/etc/confluent/docker/run \n", RUNNING, 9093, ["sh"], for_node),
        Module("Node, ZooKeeper", _of_node(kraft=False), script, f"{of_node}{ensure}{_ZOOKEEPER_OF_NODE}/etc/confluent/docker/run \n",
               OVER_ZOOKEEPER, 9093, ["sh"], for_node),
        Module("Java, a listener more", _with_another(_kraft(9092, 9093)), script,
               "#!/bin/bash\n" + _advertise(9092, 9093).rstrip() + ",TC-0://localhost:19092\n/etc/kafka/docker/run \n"),
        Module(".NET", _kraft(9092, 9093, host=""), "/testcontainers.sh", by_run + "/etc/kafka/docker/run\n", RUNNING, 9092,
               ["/bin/sh", "-c"], ["while [ ! -f /testcontainers.sh ]; do sleep 0.1; done; /testcontainers.sh"]),
        Module("Rust", _kraft(9092, 9093), rust, by_run + "/etc/kafka/docker/run\n", r".*Kafka Server started.*", 9092,
               ["bash"], ["-c", f"while [ ! -x {rust} ]; do sleep 0.1; done; {rust}"], written_inside=True),
    ]  # fmt: skip


def of_python(*, kraft: bool) -> Module:
    """As the package makes it: its own class, which is not asked to talk to an engine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from testcontainers.community.kafka import KafkaContainer

    made: list[tuple[str, str]] = []

    class Generating(KafkaContainer):
        def get_container_host_ip(self) -> str:
            return "localhost"

        def get_exposed_port(self, port: int) -> int:
            return port

        def create_file(self, content: bytes, path: str) -> None:
            made.append((path, content.decode()))

    container: Any = Generating(docker_client_kw={"version": "1.45"})  # an engine is not asked for it
    if kraft:
        container.with_kraft()
    container.configure()
    container.tc_start()
    ((path, script),) = made
    environment = {name: str(value) for name, value in container.env.items()}
    command = ["sh", "-c", f"while [ ! -f {path} ]; do sleep 0.1; done; sh {path}"]
    name = "Python" if kraft else "Python, ZooKeeper"
    return Module(name, environment, path, script, container.wait_for.pattern, container.port, None, command)
