"""What ``pykbroker serve --security`` prints, pasted into confluent-kafka, kafka-python, the Java client and our own
commands. Spark: compat_tests/spark/test_secured.py.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import confluent_kafka
import kafka
import pytest

from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.harness.pasted import Pasted, served
from pykbroker.tests.kit.leftovers import collect_leftovers

leftovers = pytest.fixture(autouse=True)(collect_leftovers)


def by_librdkafka(pasted: Pasted) -> None:
    producer = confluent_kafka.Producer(pasted.librdkafka)
    producer.produce("t", b"of librdkafka")
    assert producer.flush(60) == 0


def by_kafka_python(pasted: Pasted) -> None:
    producer = kafka.KafkaProducer(**pasted.python)
    producer.send("t", b"of kafka-python").get(60)
    producer.close()


def by_java(pasted: Pasted, tools: KafkaTools, file: Path) -> set[str]:
    """What the Java client reads of three records, one of which it writes."""
    file.write_text(pasted.java)
    (where,) = (line.partition("=")[2] for line in pasted.java.splitlines() if line.startswith("bootstrap.servers="))
    connection = ("--bootstrap-server", where, "--command-config", str(file), "--topic", "t")
    assert tools("console-producer", *connection, stdin="of Java\n").status == 0
    read = tools("console-consumer", *connection, "--from-beginning", "--max-messages", "3", "--timeout-ms", "60000")
    assert read.status == 0, read.text
    return set(read.lines)


@pytest.mark.parametrize(("protocol", "brokers"), [("sasl_ssl", 3), ("ssl", 1), ("sasl_plaintext", 1)])
def test_clients_come_in_by_what_is_printed(
    kafka_tools: KafkaTools, tmp_path: Path, protocol: str, brokers: int
) -> None:
    with served(tmp_path, protocol, "--brokers", str(brokers)) as pasted:
        for send in (by_librdkafka, by_kafka_python):
            send(pasted)
        assert by_java(pasted, kafka_tools, tmp_path / "client.properties") == {
            "of librdkafka",
            "of kafka-python",
            "of Java",
        }
        command = [sys.executable, "-m", "pykbroker", "cluster", "describe"]
        file = str(tmp_path / "data-security/clients/bob.properties")
        done = subprocess.run([*command, "--command-config", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        folders = [tmp_path / "data-security", tmp_path / "data-security/clients"]
        assert all(path.stat().st_mode & 0o077 == 0 for folder in folders for path in (folder, *folder.iterdir()))


def test_the_next_start_is_the_same(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        with served(tmp_path, "sasl_ssl", "--user", "carol") as pasted:
            by_librdkafka(pasted)
            settings = pasted.librdkafka
            found.append(
                (settings["sasl.username"], settings["sasl.password"], Path(settings["ssl.ca.location"]).read_text())
            )
    assert found[0] == found[1]
    assert sorted(path.name for path in (tmp_path / "data-security/clients").iterdir()) == [
        "carol.properties",
        "carol.txt",
    ]
