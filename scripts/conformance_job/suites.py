"""The suites: the client, the tests, and whether they can run against Apache Kafka as well."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scripts.jars import ROOT

SUITES_FOLDER = ROOT / "compat_tests"
#: Folders of compat_tests that are no suites.
_NOT_SUITES = {"harness", "suites"}


@dataclass(frozen=True, slots=True)
class Suite:
    """``only_ours`` says why the suite has no column for Apache Kafka; None if it has one."""

    name: str
    client: str
    what: str
    only_ours: str | None = None

    @property
    def path(self) -> Path:
        return SUITES_FOLDER / self.name


_OWN_PROCESS = "about pykbroker's own process"
_COMPARES = "asks both and compares"

SUITES = [
    Suite("releases", "raw requests", "taken for Kafka 2.8, 3.9 and 4.3, beside these", _COMPARES),
    Suite("oracle", "raw requests", "every API at every version, answers compared field by field", _COMPARES),
    Suite("settings", "raw requests", "names, types, defaults and validation of settings", _COMPARES),
    Suite("assignors", "Kafka's classes", "the server's assignors of KIP-848 on random groups", _COMPARES),
    Suite("patterns", "RE2/J", "patterns of topics and transactional ids", _COMPARES),
    Suite("directories", "Apache Kafka", "log directories served by both in turn", _COMPARES),
    Suite("security", "stock clients, Kafka's tools", "TLS and SASL, and raw flows beside Apache Kafka's", _COMPARES),
    Suite(
        "attacks",
        "raw requests, stock clients",
        "work in small requests, names, hostile brokers and issuers",
        _COMPARES,
    ),
    Suite("kerberos", "stock clients, raw requests", "GSSAPI with MIT's KDC, Kafka's class for names", _COMPARES),
    Suite("authorization", "raw requests", "every API with each right and without, Kafka's own authorizer", _COMPARES),
    Suite("quotas", "confluent-kafka (librdkafka)", "rates under a quota"),
    Suite("sessions", "stock clients", "a session recorded here and played to both", _COMPARES),
    Suite("lake", "PySpark 4.0.0", "topics to tables and back, killed on the way"),
    Suite("java", "kafka-clients 4.4.0", "producer, consumer, admin, transactions"),
    Suite("java_old", "kafka-clients 2.1.1", "producer, consumer, admin"),
    Suite("tools", "Kafka's tools", "the command-line tools by class name"),
    Suite("streams", "Kafka Streams 4.3.1", "exactly_once_v2, killed and restarted"),
    Suite("connect", "Kafka Connect 4.3.1", "distributed mode, file source and sink"),
    Suite("mirror", "MirrorMaker 2", "two clusters, offsets translated"),
    Suite("groups", "kafka-clients, librdkafka", "consumer groups of both protocols"),
    Suite("confluent", "confluent-kafka (librdkafka)", "data, groups, admin, transactions"),
    Suite("kcat", "kcat (librdkafka)", "produce, consume, list, query"),
    Suite("kafka_python", "kafka-python", "data, groups, admin"),
    Suite("suites/kafka_python", "kafka-python", "its own integration tests"),
    Suite("aiokafka_client", "aiokafka", "data, groups, transactions"),
    Suite("franz_go", "franz-go", "data, groups, offsets, admin"),
    Suite("suites/franz_go", "franz-go", "its own integration tests"),
    Suite("suites/librdkafka", "librdkafka", "its own tests, where a variable asks for them"),
    Suite("suites/kafka_go", "kafka-go", "its own tests"),
    Suite("suites/confluent_go", "confluent-kafka-go", "its own tests, where a variable asks for them"),
    Suite("suites/sarama", "sarama", "its own tests on five brokers, where a variable asks for them", _OWN_PROCESS),
    Suite("sarama", "sarama", "data, groups, admin"),
    Suite("kafkajs", "kafkajs", "data, groups, admin, transactions"),
    Suite("spark", "PySpark 4.0.0", "Spark's Kafka source and sink, recovery"),
    Suite("demo", "PySpark 4.0.0", "the demo against the CSV", _OWN_PROCESS),
    Suite("cli", "pykbroker's commands", "topics, produce, consume, groups, dump"),
    Suite("brokers", "Java, librdkafka, Kafka's tools", "brokers stopped and started, leaders moved", _OWN_PROCESS),
    Suite("quorum", "Apache Kafka's controller", "its metadata log followed, sessions of brokers", _OWN_PROCESS),
    Suite("torture", "confluent-kafka (librdkafka)", "SIGKILL under load", _OWN_PROCESS),
    Suite(
        "image",
        "pykbroker's image",
        "containers in namespaces, and in Docker or Podman where one answers",
        _OWN_PROCESS,
    ),
    Suite("console", "Chromium", "the console by keyboard and by what is hostile, in a browser", _OWN_PROCESS),
    Suite("prometheus", "Prometheus", "scrapes a broker at work, asked every query of the dashboard", _OWN_PROCESS),
    Suite("snippets", "README and docs", "every code block is run", _OWN_PROCESS),
    Suite("packages", "pip", "wheel and sdist built, installed and run", _OWN_PROCESS),
    Suite("testing_faults", "stock clients under faults", "every kind of fault against four clients", _OWN_PROCESS),
    Suite("registry", "clients of schema registries", "Python's, Go's and JavaScript's, kills", _OWN_PROCESS),
    Suite("worlds", "aiokafka", "programs, brokers and time out of one seed; twenty planted bugs", _OWN_PROCESS),
    Suite(
        "chaos_programs", "Java, franz-go, aiokafka, librdkafka", "correct programs under chaos, judged", _OWN_PROCESS
    ),
    Suite("published_bugs", "clients of earlier releases", "bugs of projects, found before their mend", _OWN_PROCESS),
    Suite("bench", "pykbroker's bench", "the bench runs", _OWN_PROCESS),
]


def present(suites: list[Suite]) -> list[Suite]:
    """Return the suites that are in this clone."""
    return [suite for suite in suites if suite.path.is_dir()]


def unlisted(folder: Path = SUITES_FOLDER) -> list[str]:
    """Return folders of tests that are missing in ``SUITES``."""
    packages = {file.parent.relative_to(folder).as_posix() for file in folder.glob("*/__init__.py")} - _NOT_SUITES
    packages |= {file.parent.relative_to(folder).as_posix() for file in folder.glob("suites/*/__init__.py")}
    return sorted(packages - {suite.name for suite in SUITES})
