"""Earlier releases of Apache Kafka, to compare a broker with ``as_version`` with.

They are 4.3.1 and 3.9.1 as one KRaft node each, and 2.8.2 over ZooKeeper.
"""

from __future__ import annotations

from pathlib import Path

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.java import compile_java, java_command
from compat_tests.harness.process import BrokerProcess, answers_api_versions
from pykbroker.tests.kit.ports import free_ports

_JAVA_SOURCE = Path(__file__).with_name("java_src") / "KafkaWithZooKeeper.java"
_HEAP = "-Xmx400m"


class ApacheKafka43(ApacheKafka):
    """Apache Kafka 4.3.1, broker and controller in one process."""

    name = "kafka-4.3"
    jars = "kafka-4.3"


class ApacheKafka39(ApacheKafka):
    """Apache Kafka 3.9.1, broker and controller in one process."""

    name = "kafka-3.9"
    jars = "kafka-3.9"


class ApacheKafka28(BrokerProcess):
    """Apache Kafka 2.8.2 with its ZooKeeper."""

    name = "kafka-2.8"

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port, self._zookeeper_port = free_ports(2)
        settings = {
            "broker.id": "1",
            "listeners": f"PLAINTEXT://{self.bootstrap}",
            "zookeeper.connect": f"{self.host}:{self._zookeeper_port}",
            "log.dirs": str(self.data_dir),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "5",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "5",
            "group.initial.rebalance.delay.ms": "150",
            **self.settings,
        }
        self._properties = self.folder / "server.properties"
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        super().start()

    def command(self) -> list[str]:
        classes = compile_java([_JAVA_SOURCE], "kafka-2.8")
        arguments = [str(self.folder / "zookeeper"), str(self._zookeeper_port), str(self._properties)]
        return [*java_command("KafkaWithZooKeeper", "kafka-2.8", classes=classes), *arguments]

    def is_ready(self) -> bool:
        return answers_api_versions(self.host, self.port)
