"""Topics and offsets of a Kafka cluster, by the admin client in the jars of Spark's Kafka connector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from pykbroker.lake.errors import LakeError
from pykbroker.lake.ledger import LakePartition
from pykbroker.lake.spark_session import CONNECTOR, need_class

_SILENT_S = 30
_FETCH_WAIT_MS = "10"
"""The longest that a broker waits for new records with a fetch. Tasks fetch what is there. Spark's consumer asks for offsets behind a fetch ahead of
them on the same connection, so with Kafka's default of 500, every partition of a batch would take half a second longer.
"""


class SourceCluster:
    """A cluster, by its bootstrap servers. ``options`` are settings of Kafka's Java client. Raises Missing if Spark lacks the client.

    The methods raise LakeError if the cluster does not answer or refuses.
    """

    def __init__(self, spark: SparkSession, bootstrap: str, options: Mapping[str, str] | None = None) -> None:
        need_class(spark, "org.apache.kafka.clients.admin.Admin", CONNECTOR)
        self.bootstrap = bootstrap
        self.options = dict(options or {})
        self._gateway = spark._sc._gateway  # noqa: SLF001 - PySpark's only way to the connector's client
        self._jvm: Any = spark._jvm  # noqa: SLF001

    def spark_options(self) -> dict[str, str]:
        """Options for Spark's Kafka source: with headers, and without records of open and aborted transactions."""
        options = {f"kafka.{name}": value for name, value in self.options.items()}
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            "kafka.isolation.level": "read_committed",
            "kafka.fetch.max.wait.ms": _FETCH_WAIT_MS,
            "includeHeaders": "true",
            **options,
        }

    def cluster_id(self) -> str:
        """The cluster id."""
        with self._admin() as admin:
            return str(admin.describeCluster().clusterId().get())

    def pattern(self, pattern: str) -> Any:
        """The Java pattern. Raises LakeError if it is none."""
        try:
            return self._jvm.java.util.regex.Pattern.compile(pattern)
        except IllegalArgumentException as error:  # PySpark's form of Java's
            raise LakeError(f"{pattern!r} is not a regular expression: {str(error).splitlines()[0]}.") from None

    def matching(self, pattern: str) -> set[str]:
        """The topics whose whole name matches the Java pattern, without internal ones. Raises LakeError if it is no pattern."""
        compiled = self.pattern(pattern)
        with self._admin() as admin:
            return {str(name) for name in admin.listTopics().names().get() if compiled.matcher(name).matches()}

    def partitions(self, topics: Iterable[str]) -> set[LakePartition]:
        """The partitions of the topics that exist."""
        wanted = set(topics)
        with self._admin() as admin:
            there = wanted & set(admin.listTopics().names().get())
            described = admin.describeTopics(self._list(there)).allTopicNames().get()
            return {
                LakePartition(topic, partition.partition())
                for topic in there
                for partition in described[topic].partitions()
            }

    def ids(self, topics: Iterable[str]) -> dict[str, str]:
        """The ids of the topics that exist; empty for brokers before Kafka 2.8, which have no ids."""
        wanted = set(topics)
        none = self._jvm.org.apache.kafka.common.Uuid.ZERO_UUID
        with self._admin() as admin:
            there = self._list(wanted & set(admin.listTopics().names().get()))
            described = admin.describeTopics(there).allTopicNames().get()
            found = {topic: described[topic].topicId() for topic in there}
            return {topic: str(each.toString()) for topic, each in found.items() if not each.equals(none)}

    def earliest(self, places: Iterable[LakePartition]) -> dict[LakePartition, int]:
        """The log start offsets of the partitions that exist."""
        return self._offsets(places, "earliest")

    def ends(self, places: Iterable[LakePartition]) -> dict[LakePartition, int]:
        """The last stable offsets of the partitions that exist."""
        return self._offsets(places, "latest")

    def compacted(self, topics: Iterable[str]) -> set[str]:
        """The topics whose cleanup.policy includes compact."""
        configs = self._jvm.org.apache.kafka.common.config
        kind = getattr(configs, "ConfigResource$Type").TOPIC
        resources = self._list(configs.ConfigResource(kind, topic) for topic in topics)
        with self._admin() as admin:
            found = admin.describeConfigs(resources).all().get()
            return {
                str(resource.name())
                for resource in found
                if "compact" in found[resource].get("cleanup.policy").value().split(",")
            }

    def records(self, place: LakePartition, start: int, end: int) -> Iterator[Any]:
        """The committed records of a partition in this range of offsets, as Kafka's own consumer returns them; one by one, so for a few."""
        clients = self._jvm.org.apache.kafka.clients.consumer
        bytes_of = self._jvm.org.apache.kafka.common.serialization.ByteArrayDeserializer
        properties = self._properties({"isolation.level": "read_committed", "enable.auto.commit": "false"})
        consumer = clients.KafkaConsumer(properties, bytes_of(), bytes_of())
        try:
            there = self._jvm.org.apache.kafka.common.TopicPartition(place.topic, place.partition)
            consumer.assign(self._list([there]))
            consumer.seek(there, start)
            pause = self._jvm.java.time.Duration.ofMillis(1000)
            silent = 0
            while consumer.position(there) < end:
                before = consumer.position(there)
                for record in consumer.poll(pause).records(there):
                    if record.offset() < end:
                        yield record
                silent = silent + 1 if consumer.position(there) == before else 0
                if silent > _SILENT_S:
                    raise LakeError(f"Kafka at {self.bootstrap} did not answer with {place} from offset {before}.")
        except Py4JJavaError as error:
            raise LakeError(f"Kafka at {self.bootstrap}, {place}: {reason(error)}.") from None
        finally:
            consumer.close()

    def _offsets(self, places: Iterable[LakePartition], which: str) -> dict[LakePartition, int]:
        wanted = set(places)
        there = self.partitions({place.topic for place in wanted}) & wanted
        spec = getattr(self._jvm.org.apache.kafka.clients.admin.OffsetSpec, which)()
        committed = self._jvm.org.apache.kafka.common.IsolationLevel.READ_COMMITTED
        options = self._jvm.org.apache.kafka.clients.admin.ListOffsetsOptions(committed)
        asked = self._jvm.java.util.HashMap()
        for place in there:
            asked[self._jvm.org.apache.kafka.common.TopicPartition(place.topic, place.partition)] = spec
        with self._admin() as admin:
            found = admin.listOffsets(asked, options).all().get()
            return {LakePartition(str(key.topic()), int(key.partition())): int(found[key].offset()) for key in found}

    @contextmanager
    def _admin(self) -> Iterator[Any]:
        """An admin client for one request."""
        try:
            admin = self._jvm.org.apache.kafka.clients.admin.Admin.create(self._properties({}))
            try:
                yield admin
            finally:
                admin.close()
        except Py4JJavaError as error:
            raise LakeError(f"Kafka at {self.bootstrap} did not answer: {reason(error)}.") from None

    def _properties(self, more: Mapping[str, str]) -> Any:
        properties = self._jvm.java.util.Properties()
        for name, value in {"bootstrap.servers": self.bootstrap, **self.options, **more}.items():
            properties.setProperty(name, value)
        return properties

    def _list(self, items: Iterable[Any]) -> Any:
        found = self._jvm.java.util.ArrayList()
        for item in items:
            found.add(item)
        return found


def reason(error: Py4JJavaError) -> str:
    """The message of the innermost cause of a Java exception."""
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage() or cause.getClass().getSimpleName()).strip().rstrip(".")
