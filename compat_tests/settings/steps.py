"""What is asked of both brokers, in order, scene by scene. A step is (method of Raw, arguments, options)."""

from __future__ import annotations

from typing import Any, NamedTuple

from compat_tests.settings.raw import APPEND, BROKER, DELETE, GROUP, LOGGER, METRICS, SET, SUBTRACT, TOPIC


class Step(NamedTuple):
    method: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def __str__(self) -> str:
        options = "".join(f", {name}={value}" for name, value in self.options.items())
        return f"{self.method}({', '.join(map(repr, self.arguments))}{options})"


def alter(kind: int, name: str, *changes: tuple[str, int, str | None], **options: Any) -> Step:
    return Step("alter", (kind, name, *changes), options)


def describe(kind: int, name: str, *keys: str, **options: Any) -> Step:
    return Step("describe", (kind, name, *keys), options)


def replace(kind: int, name: str, settings: dict[str, str | None], **options: Any) -> Step:
    return Step("replace", (kind, name, settings), options)


def create(name: str, *settings: tuple[str, str | None], **options: Any) -> Step:
    return Step("create", (name, *settings), options)


def resources(*kinds: int, **options: Any) -> Step:
    return Step("resources", kinds, options)


TOPICS = [
    create("settings-t", ("retention.ms", "1000")),
    describe(TOPIC, "settings-t"),
    describe(TOPIC, "settings-t", "retention.ms", "foo", "segment.ms"),
    describe(TOPIC, "settings-t", "retention.ms", version=1),
    describe(TOPIC, "settings-t", "retention.ms", version=3, synonyms=False),
    describe(TOPIC, "nope"),
    describe(TOPIC, "a/b"),
    describe(TOPIC, ""),
    alter(TOPIC, "settings-t"),
    alter(TOPIC, "settings-t", ("foo", SET, "1")),
    alter(TOPIC, "settings-t", ("foo", DELETE, None)),
    alter(TOPIC, "settings-t", ("foo", APPEND, "x")),
    alter(TOPIC, "settings-t", ("retention.ms", SET, "x")),
    alter(TOPIC, "settings-t", ("retention.ms", SET, " x ")),
    alter(TOPIC, "settings-t", ("retention.ms", SET, "-2")),
    alter(TOPIC, "settings-t", ("retention.ms", SET, None)),
    alter(TOPIC, "settings-t", ("retention.ms", SET, "1"), ("retention.ms", SET, "2")),
    alter(TOPIC, "settings-t", ("retention.ms", APPEND, "1")),
    alter(TOPIC, "settings-t", ("retention.ms", SET, "77"), validate_only=True),
    alter(TOPIC, "settings-t", ("retention.ms", SET, " 5000 ")),
    alter(TOPIC, "settings-t", ("foo", SET, "1"), ("retention.ms", SET, "9")),
    describe(TOPIC, "settings-t", "retention.ms"),
    alter(TOPIC, "settings-t", ("retention.ms", DELETE, "x")),
    alter(TOPIC, "settings-t", ("cleanup.policy", APPEND, "compact")),
    describe(TOPIC, "settings-t", "retention.ms", "cleanup.policy"),
    alter(TOPIC, "settings-t", ("cleanup.policy", APPEND, "compact,foo")),
    alter(TOPIC, "settings-t", ("cleanup.policy", SUBTRACT, "delete")),
    alter(TOPIC, "settings-t", ("cleanup.policy", SUBTRACT, "compact")),
    describe(TOPIC, "settings-t", "cleanup.policy"),
    alter(TOPIC, "settings-t", ("cleanup.policy", APPEND, "")),
    alter(TOPIC, "settings-t", ("cleanup.policy", SET, "delete, compact")),
    alter(TOPIC, "settings-t", ("cleanup.policy", SUBTRACT, "compact")),
    describe(TOPIC, "settings-t", "cleanup.policy"),
    alter(TOPIC, "settings-t", ("internal.segment.bytes", SET, "1000")),
    describe(TOPIC, "settings-t", "internal.segment.bytes", "segment.bytes"),
    alter(TOPIC, "settings-t", ("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5")),
    alter(TOPIC, "settings-t", ("remote.storage.enable", SET, "true")),
    alter(TOPIC, "settings-t", ("local.retention.ms", SET, "700000000")),
    alter(TOPIC, "settings-t", ("leader.replication.throttled.replicas", APPEND, "0:1,0:2")),
    alter(TOPIC, "settings-t", ("leader.replication.throttled.replicas", APPEND, "0:1")),
    alter(TOPIC, "settings-t", ("leader.replication.throttled.replicas", APPEND, "*")),
    alter(TOPIC, "settings-t", ("preallocate", SET, "TRUE")),
    describe(TOPIC, "settings-t"),
    alter(TOPIC, "nope", ("retention.ms", SET, "1")),
    alter(TOPIC, "nope", ("foo", SET, "1")),
    alter(TOPIC, "", ("retention.ms", SET, "1")),
    alter(TOPIC, "a/b", ("retention.ms", SET, "1")),
    alter(0, "x", ("a", SET, "b")),
    alter(99, "x", ("a", SET, "b")),
    describe(99, "x"),
    replace(TOPIC, "settings-t", {"retention.ms": "5", "segment.ms": "7"}),
    describe(TOPIC, "settings-t"),
    replace(TOPIC, "settings-t", {}, validate_only=True),
    replace(TOPIC, "settings-t", {"retention.ms": None}),
    replace(TOPIC, "settings-t", {"foo": "1"}),
    describe(TOPIC, "settings-t", "retention.ms"),
    replace(TOPIC, "settings-t", {}),
    describe(TOPIC, "settings-t"),
    replace(TOPIC, "nope", {}),
    create("settings-u", ("foo", "1"), validate_only=True),
    create("settings-u", ("retention.ms", None), validate_only=True),
    create("settings-u", ("segment.bytes", "y"), ("retention.ms", "x"), validate_only=True),
    create("settings-u", ("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5"), validate_only=True),
    create("settings-u", ("preallocate", " TRUE "), ("cleanup.policy", "delete, compact"), validate_only=True),
]

BROKERS = [
    describe(BROKER, ""),
    describe(BROKER, "x"),
    describe(BROKER, "2"),
    describe(BROKER, "1", "log.retention.ms", "log.retention.hours", "node.id", "broker.id", "num.partitions"),
    alter(BROKER, ""),
    alter(BROKER, "2"),
    alter(BROKER, "1", ("num.partitions", SET, "3")),
    alter(BROKER, "", ("num.partitions", SET, "3")),
    alter(BROKER, "1", ("num.partitions", DELETE, "")),
    alter(BROKER, "x", ("log.retention.ms", SET, "3")),
    alter(BROKER, "1", ("log.retention.ms", SET, None)),
    alter(BROKER, "1", ("log.retention.ms", 9, "1")),
    alter(BROKER, "1", ("foo", SET, "3")),
    alter(BROKER, "", ("foo", SET, "3")),
    describe(BROKER, "1", "foo"),
    describe(BROKER, ""),
    alter(BROKER, "1", ("foo", APPEND, "3")),
    alter(BROKER, "1", ("foo", DELETE, "3")),
    alter(BROKER, "", ("foo", DELETE, "3")),
    create("settings-b"),
    alter(BROKER, "", ("log.retention.ms", SET, "3000000")),
    describe(BROKER, "", "log.retention.ms"),
    describe(BROKER, "1", "log.retention.ms"),
    alter(BROKER, "1", ("log.retention.ms", SET, "4000000")),
    describe(BROKER, "1", "log.retention.ms"),
    describe(TOPIC, "settings-b", "retention.ms"),
    create("settings-c", validate_only=True),
    alter(BROKER, "1", ("log.retention.ms", DELETE, None)),
    alter(BROKER, "", ("log.retention.ms", DELETE, None)),
    alter(BROKER, "1", ("log.retention.ms", SET, "x")),
    alter(BROKER, "1", ("log.retention.ms", SET, "0")),
    alter(BROKER, "1", ("log.roll.ms", SET, "0")),
    alter(BROKER, "1", ("log.segment.bytes", SET, "1")),
    alter(BROKER, "1", ("log.cleaner.threads", APPEND, "1")),
    alter(BROKER, "", ("log.cleaner.threads", SET, "-1")),
    alter(BROKER, "", ("max.connections.per.ip", SET, "0")),
    alter(BROKER, "", ("ssl.keystore.location", SET, "x")),
    alter(BROKER, "1", ("ssl.keystore.location", SET, "x")),
    alter(BROKER, "", ("listener.name.other.ssl.keystore.location", SET, "x")),
    alter(BROKER, "", ("listeners", SET, "PLAINTEXT://:9")),
    alter(BROKER, "1", ("listener.name.other.ssl.keystore.password", SET, "secret")),
    describe(BROKER, "1", "listener.name.other.ssl.keystore.password"),
    alter(BROKER, "1", ("listener.name.other.ssl.keystore.password", DELETE, None)),
    alter(BROKER, "", ("log.cleanup.policy", APPEND, "compact")),
    describe(BROKER, "", "log.cleanup.policy"),
    describe(TOPIC, "settings-b", "cleanup.policy"),
    alter(BROKER, "1", ("log.cleanup.policy", SUBTRACT, "delete")),
    describe(BROKER, "1", "log.cleanup.policy"),
    alter(BROKER, "", ("follower.replication.throttled.rate", SET, "100")),
    describe(BROKER, "1", "follower.replication.throttled.rate"),
    replace(BROKER, "1", {"message.max.bytes": "2000000"}),
    describe(BROKER, "1", "message.max.bytes", "log.cleanup.policy"),
    replace(BROKER, "1", {}),
    replace(BROKER, "1", {"num.partitions": "3"}),
    alter(BROKER, "", ("log.cleanup.policy", DELETE, ""), ("follower.replication.throttled.rate", DELETE, "")),
    describe(BROKER, "1", "message.max.bytes", "log.cleanup.policy", "follower.replication.throttled.rate"),
    describe(LOGGER, ""),
    describe(LOGGER, "2"),
    alter(LOGGER, "1", ("root", SET, "info")),
    alter(LOGGER, "1", ("root", SET, "OFF")),
    alter(LOGGER, "1", ("foo.bar", SET, "DEBUG")),
    alter(LOGGER, "1", ("root", DELETE, "")),
    alter(LOGGER, "1", ("root", APPEND, "INFO")),
    alter(LOGGER, "1", ("root", SET, None)),
    alter(LOGGER, "2", ("root", SET, "INFO")),
    alter(LOGGER, "", ("root", SET, "INFO")),
    alter(LOGGER, "1", ("root", SET, "ERROR"), validate_only=True),
    replace(LOGGER, "1", {"root": "INFO"}),
]

_BAD_GROUP_SETTINGS = [
    *(("foo", "1"), ("consumer.session.timeout.ms", "x"), ("consumer.session.timeout.ms", "0")),
    *((f"{kind}.session.timeout.ms", text) for kind in ("consumer", "share", "streams") for text in ("1", "60001")),
    *((f"{kind}.heartbeat.interval.ms", text) for kind in ("consumer", "share", "streams") for text in ("1", "15001")),
    *(
        (f"{kind}.assignment.interval.ms", text)
        for kind in ("consumer", "share", "streams")
        for text in ("-1", "15001")
    ),
    *(("share.record.lock.duration.ms", text) for text in ("1", "14999", "60001")),
    *(("share.delivery.count.limit", text) for text in ("1", "11")),
    *(("share.partition.max.record.locks", text) for text in ("99", "4001")),
    *(("share.auto.offset.reset", "x"), ("share.isolation.level", "x"), ("streams.num.standby.replicas", "3")),
    ("streams.initial.rebalance.delay.ms", "-1"),
]

GROUPS = [
    describe(GROUP, "settings-g"),
    describe(GROUP, ""),
    describe(METRICS, "settings-m"),
    describe(METRICS, ""),
    *(alter(GROUP, "settings-g", (name, SET, text)) for name, text in _BAD_GROUP_SETTINGS),
    alter(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")),
    alter(GROUP, "settings-g", ("consumer.session.timeout.ms", APPEND, "50000")),
    alter(GROUP, "settings-g", ("consumer.session.timeout.ms", SET, "50000")),
    describe(GROUP, "settings-g", "consumer.session.timeout.ms"),
    resources(GROUP),
    replace(GROUP, "settings-g", {}),
    describe(GROUP, "settings-g", "consumer.session.timeout.ms"),
    resources(GROUP),
    alter(METRICS, "", ("interval.ms", SET, "1000")),
    *(
        alter(METRICS, "settings-m", change)
        for change in [
            ("foo", SET, "1"),
            ("interval.ms", SET, "10"),
            ("interval.ms", SET, "x"),
            ("match", SET, "x"),
            ("match", SET, "x=y"),
            ("match", SET, "client_id=["),
            ("match", SET, "client_id=a=b"),
            ("match", APPEND, "client_id=b"),
            ("metrics", SET, ","),
            ("match", SET, " client_id = a.* , client_source_port=9"),
        ]
    ),
    describe(METRICS, "settings-m"),
    resources(METRICS),
    resources(version=0),
    alter(METRICS, "settings-m", ("match", DELETE, "")),
    resources(METRICS),
    resources(BROKER, LOGGER),
    resources(0),
    resources(TOPIC, 99),
]

_TEXTS_OF_LISTS = (
    ("log.cleanup.policy", ("", ",", "compact,", "compact, delete", "delete, delete", "delete,delete", "x, x", " ,")),
    ("metric.reporters", ("", ",", "x", "a,a", "org.apache.kafka.common.metrics.JmxReporter,x")),
    ("sasl.enabled.mechanisms", ("", ",", "PLAIN,PLAIN")),
    ("listener.name.plaintext.ssl.enabled.protocols", (",", "TLSv1.2,TLSv1.2")),
    ("cordoned.log.dirs", (",", "*,*")),
    ("config.providers", ("", ",", "a,a")),
)
_OVERRIDES = "max.connections.per.ip.overrides"
_HOSTS = ("", "a_b", "::1", "[::1]", "a b", "ä", "a;b", "1.2.3.4.5", "a,b", "a,,b", "a\tb")
_LIMITS = ("", "-5", "+5", "x", "5 6", "2147483648", "-2147483648", "٣", "0" * 20 + "5", "5\0", "5, ,", "5,x", "5,,b:6")
LISTS = [
    *(
        alter(BROKER, "1", (name, operation, text), validate_only=True)
        for name, texts in _TEXTS_OF_LISTS
        for text in texts
        for operation in (SET, APPEND, SUBTRACT)
    ),
    *(alter(BROKER, "", (_OVERRIDES, SET, f"{host}:5"), validate_only=True) for host in _HOSTS),
    *(alter(BROKER, "", (_OVERRIDES, SET, f"localhost:{limit}"), validate_only=True) for limit in _LIMITS),
    alter(BROKER, "", ("log.cleaner.threads", SET, "0")),
    alter(BROKER, "", ("log.cleanup.policy", SET, "")),
    alter(BROKER, "", ("log.cleanup.policy", APPEND, "")),
    alter(BROKER, "", ("log.cleanup.policy", APPEND, "compact,")),
    describe(BROKER, "", "log.cleanup.policy"),
    alter(BROKER, "", ("log.cleanup.policy", APPEND, "")),
    alter(BROKER, "", ("log.cleanup.policy", DELETE, "")),
    create("settings-l"),
    *(
        alter(TOPIC, "settings-l", (name, operation, text), validate_only=True)
        for name in ("cleanup.policy", "follower.replication.throttled.replicas")
        for text in ("", ",", "compact,", ",compact", "compact,compact", " compact")
        for operation in (SET, APPEND, SUBTRACT)
    ),
]

SCENES = {"topics": TOPICS, "brokers": BROKERS, "groups": GROUPS, "lists and limits": LISTS}
