"""AlterConfigs and IncrementalAlterConfigs for brokers, groups, loggers and metrics subscriptions, good and bad."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.configs import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    change,
    describe,
    replace,
)
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.list_config_resources import ListConfigResourcesRequest

LOGGER = "kafka.server.KafkaConfig"


def until_value(ask: Ask, kind: int, resource: str, setting: str, value: str | None) -> None:
    """Waits until a setting has the value, and keeps what is then said of it."""
    asked = describe(kind, resource, setting, include_synonyms=True)
    ask.until(lambda answer: [each.value for each in answer.results[0].configs] == [value], asked, 4)


# ---- groups


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def settings_of_a_group(ask: Ask) -> None:
    group = ask.name("group")
    for setting, value, default in (
        ("consumer.session.timeout.ms", "50000", "45000"),
        ("consumer.heartbeat.interval.ms", "6000", "5000"),
        ("share.session.timeout.ms", "46000", "45000"),
        ("share.auto.offset.reset", "earliest", "latest"),
        ("share.isolation.level", "read_committed", "read_uncommitted"),
        ("streams.num.standby.replicas", "1", "0"),
    ):
        ask(change(GROUP, group, (setting, SET, value)))
        until_value(ask, GROUP, group, setting, value)
        ask(change(GROUP, group, (setting, DELETE, None)))
        until_value(ask, GROUP, group, setting, default)
    ask(change(GROUP, group, ("consumer.session.timeout.ms", SET, "50000"), validate_only=True))
    ask(describe(GROUP, group, "consumer.session.timeout.ms"), 4)


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def refused_settings_of_a_group(ask: Ask) -> None:
    group = ask.name("group")
    for setting, value in (
        ("consumer.session.timeout.ms", "1"),
        ("consumer.session.timeout.ms", "99999999"),
        ("consumer.session.timeout.ms", "soon"),
        ("consumer.session.timeout.ms", None),
        ("consumer.heartbeat.interval.ms", "1"),
        ("consumer.heartbeat.interval.ms", "60000"),
        ("share.session.timeout.ms", "1"),
        ("share.heartbeat.interval.ms", "1"),
        ("share.record.lock.duration.ms", "1"),
        ("share.delivery.count.limit", "1000"),
        ("share.partition.max.record.locks", "1"),
        ("share.auto.offset.reset", "yesterday"),
        ("streams.session.timeout.ms", "1"),
        ("streams.heartbeat.interval.ms", "1"),
        ("streams.num.standby.replicas", "9"),
        ("session.timeout.ms", "50000"),
        ("no.such.setting", "1"),
        ("", "1"),
    ):
        ask(change(GROUP, group, (setting, SET, value)))
    ask(change(GROUP, group, ("consumer.session.timeout.ms", APPEND, "1")))
    ask(change(GROUP, group, ("consumer.session.timeout.ms", SUBTRACT, "1")))
    ask(change(GROUP, group, ("no.such.setting", DELETE, None)))
    ask(change(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")))
    ask(change(GROUP, group))
    session, beat = ("consumer.session.timeout.ms", SET, "45000"), ("consumer.heartbeat.interval.ms", SET, "50000")
    ask(change(GROUP, group, session, beat))
    ask(change(GROUP, group, session, session))
    ask(describe(GROUP, group), 4)


@case(ApiKey.ALTER_CONFIGS)
def replaced_settings_of_a_group(ask: Ask) -> None:
    group = ask.name("group")
    ask(replace(GROUP, group, ("consumer.session.timeout.ms", "50000")))
    until_value(ask, GROUP, group, "consumer.session.timeout.ms", "50000")
    ask(replace(GROUP, group, ("consumer.heartbeat.interval.ms", "6000")))
    until_value(ask, GROUP, group, "consumer.session.timeout.ms", "45000")
    until_value(ask, GROUP, group, "consumer.heartbeat.interval.ms", "6000")
    for setting, value in (("consumer.session.timeout.ms", "1"), ("no.such.setting", "1"), ("", "1")):
        ask(replace(GROUP, group, (setting, value)))
    ask(replace(GROUP, group, ("consumer.session.timeout.ms", None)))
    ask(replace(GROUP, "", ("consumer.session.timeout.ms", "50000")))
    ask(replace(GROUP, group))
    until_value(ask, GROUP, group, "consumer.heartbeat.interval.ms", "5000")


@case(ApiKey.LIST_CONFIG_RESOURCES, since=1)
def groups_with_settings(ask: Ask) -> None:
    group = ask.name("group")

    def listed() -> list[str]:
        answer = ask.quietly(ListConfigResourcesRequest([GROUP]), 1)
        return [each.resource_name for each in answer.config_resources if each.resource_name == group]

    ask.keep(listed())
    ask.quietly(change(GROUP, group, ("consumer.session.timeout.ms", SET, "50000")), 1)
    until_value(ask, GROUP, group, "consumer.session.timeout.ms", "50000")
    ask.keep(listed())


# ---- brokers


def replace_for(broker: str, *settings: tuple[str, str | None], validate_only: bool = False):
    """A replacement that keeps the one setting which Apache Kafka does not let go from the cluster."""
    kept = [] if broker else [("min.insync.replicas", "1")]
    return replace(BROKER, broker, *kept, *settings, validate_only=validate_only)


def let_go(ask: Ask) -> None:
    """Has pykbroker forget the setting that was kept for Apache Kafka's sake, which itself refuses."""
    ask.quietly(change(BROKER, "", ("min.insync.replicas", DELETE, None)), 1)


@case(ApiKey.ALTER_CONFIGS)
def replaced_settings_of_a_broker_and_of_the_cluster(ask: Ask) -> None:
    for broker in ("1", ""):
        ask(replace_for(broker, ("log.cleaner.backoff.ms", "7777")))
        until_value(ask, BROKER, "1", "log.cleaner.backoff.ms", "7777")
        ask(replace_for(broker, ("log.cleaner.backoff.ms", "8888"), validate_only=True))
        ask(replace_for(broker))
        until_value(ask, BROKER, "1", "log.cleaner.backoff.ms", "15000")
    let_go(ask)


@case(ApiKey.ALTER_CONFIGS)
def refused_replacements_of_a_broker(ask: Ask) -> None:
    for broker in ("1", ""):
        ask(replace_for(broker, ("log.dirs", "/elsewhere")))
        ask(replace_for(broker, ("no.such.setting", "1"), validate_only=True))
        ask(replace_for(broker, ("log.cleaner.threads", "many")))
        ask(replace_for(broker, ("log.cleaner.threads", "0")))
        ask(replace_for(broker, ("log.cleaner.threads", None)))
        ask(replace_for(broker, ("log.cleaner.backoff.ms", "1"), ("log.cleaner.backoff.ms", "2")))
    ask(replace(BROKER, "7", ("log.cleaner.backoff.ms", "1")))
    ask(replace(BROKER, "one", ("log.cleaner.backoff.ms", "1")))
    ask(replace(BROKER, "-1", ("log.cleaner.backoff.ms", "1")))


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def dynamic_settings_of_a_broker(ask: Ask) -> None:
    """One of each kind that Kafka takes while it runs: of the logs, of the cleaner, of connections, of limits."""
    for setting, value in (
        ("log.retention.ms", "3600000"),
        ("log.segment.bytes", "2000000"),
        ("log.cleanup.policy", "compact"),
        ("message.max.bytes", "2000000"),
        ("unclean.leader.election.enable", "true"),
        ("log.cleaner.threads", "2"),
        ("log.cleaner.io.buffer.size", "600000"),
        ("max.connections", "5000"),
        ("max.connections.per.ip", "4000"),
        ("num.io.threads", "5"),
        ("background.threads", "8"),
        ("producer.id.expiration.ms", "80000000"),
        ("transaction.partition.verification.enable", "false"),
    ):
        for broker in ("1", ""):
            ask(change(BROKER, broker, (setting, SET, value), validate_only=True))
        ask(change(BROKER, "", (setting, SET, value)))
        until_value(ask, BROKER, "1", setting, value)
        ask(describe(BROKER, "", setting, include_synonyms=True), 4)
        ask(change(BROKER, "", (setting, DELETE, None)))


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def in_sync_replicas_of_a_broker(ask: Ask) -> None:
    ask(change(BROKER, "1", ("min.insync.replicas", SET, "1"), validate_only=True))
    ask(change(BROKER, "", ("min.insync.replicas", SET, "1"), validate_only=True))
    ask(change(BROKER, "", ("min.insync.replicas", DELETE, None), validate_only=True))


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def in_sync_replicas_while_eligible_leaders_are_kept(ask: Ask) -> None:
    setting = "min.insync.replicas"
    ask(change(BROKER, "1", (setting, DELETE, None)))
    ask(change(BROKER, "1", (setting, SET, "x")))
    ask(change(BROKER, "", (setting, SET, "x")))
    ask(change(BROKER, "1", ("num.io.threads", DELETE, None), (setting, SET, "1")))
    ask(change(BROKER, "", (setting, SET, "2")))
    until_value(ask, BROKER, "1", setting, "2")
    ask(change(BROKER, "", (setting, SET, "1")))
    until_value(ask, BROKER, "1", setting, "1")


@case(ApiKey.ALTER_CONFIGS)
def settings_of_all_brokers_without_their_in_sync_replicas(ask: Ask) -> None:
    ask(replace(BROKER, "", ("log.cleaner.backoff.ms", "15000")))
    ask(replace(BROKER, ""))
    ask(replace(BROKER, "", ("min.insync.replicas", "1"), validate_only=True))
    ask(replace(BROKER, "1", ("min.insync.replicas", "1"), validate_only=True))


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def values_that_a_running_broker_refuses(ask: Ask) -> None:
    for setting, value in (
        ("num.io.threads", "1000"),
        ("num.io.threads", "17"),
        ("num.io.threads", "3"),
        ("num.network.threads", "100"),
        ("background.threads", "3"),
        ("num.replica.fetchers", "3"),
        ("num.recovery.threads.per.data.dir", "9"),
        ("num.network.threads", "0"),
        ("log.cleaner.threads", "0"),
        ("log.cleaner.threads", "3"),
        ("log.segment.bytes", "1"),
        ("log.retention.ms", "soon"),
        ("message.max.bytes", "-1"),
        ("max.connections.per.ip.overrides", "somewhere"),
        ("max.connections", "0"),
        ("max.connections.per.ip", "0"),
        ("max.connection.creation.rate", "0"),
        ("listener.name.plaintext.max.connections", "0"),
        ("listener.name.plaintext.max.connections", "many"),
        ("listener.name.plaintext.max.connection.creation.rate", "0"),
        ("listener.name.plaintext.max.connection.creation.rate", "5"),
        ("listeners", "PLAINTEXT://127.0.0.1:1"),
        ("advertised.listeners", "PLAINTEXT://127.0.0.1:1"),
        ("broker.id", "2"),
        ("node.id", "2"),
        ("log.cleanup.policy", "burn"),
        ("log.local.retention.ms", "999999999999"),
        ("log.local.retention.ms", "-1"),
        ("log.local.retention.bytes", "1000"),
        ("compression.type", "squeeze"),
        ("log.message.timestamp.type", "Never"),
    ):
        for broker in ("1", ""):
            ask(change(BROKER, broker, (setting, SET, value), validate_only=True))
    sizes = ("log.retention.bytes", SET, "1000"), ("log.local.retention.bytes", SET, "2000")
    ask(change(BROKER, "", *sizes, validate_only=True))
    ask(change(BROKER, "", sizes[0], ("log.local.retention.bytes", SET, "-1"), validate_only=True))
    ask(change(BROKER, "1", ("log.cleanup.policy", APPEND, "compact"), validate_only=True))
    ask(change(BROKER, "1", ("log.retention.ms", APPEND, "1"), validate_only=True))
    ask(change(BROKER, "1"))
    ask(change(BROKER, ""))


# ---- loggers and metrics subscriptions


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def levels_of_loggers(ask: Ask) -> None:
    for level in ("LOUD", "", None, "INFO "):
        ask(change(BROKER_LOGGER, "1", (LOGGER, SET, level)))
    for kind in (APPEND, SUBTRACT):
        ask(change(BROKER_LOGGER, "1", (LOGGER, kind, "INFO")))
    ask(change(BROKER_LOGGER, "7", (LOGGER, SET, "INFO")))
    ask(change(BROKER_LOGGER, "", (LOGGER, SET, "INFO")))
    ask(change(BROKER_LOGGER, "1", ("no.such.logger", SET, "INFO")))
    ask(change(BROKER_LOGGER, "1"))


@case(ApiKey.ALTER_CONFIGS)
def replaced_levels_of_loggers(ask: Ask) -> None:
    ask(replace(BROKER_LOGGER, "1", (LOGGER, "INFO")))
    ask(replace(BROKER_LOGGER, "7", (LOGGER, "INFO")))


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def metrics_subscriptions_and_their_refusals(ask: Ask) -> None:
    name = ask.name("metrics")
    ask(change(CLIENT_METRICS, name, ("interval.ms", SET, "60000"), ("metrics", SET, "org.apache.kafka.")))
    until_value(ask, CLIENT_METRICS, name, "interval.ms", "60000")
    for setting, value in (
        ("interval.ms", "1"),
        ("interval.ms", "soon"),
        ("match", "nonsense"),
        ("match", "client_id=["),
        ("match", "no_such_field=a"),
        ("no.such.setting", "1"),
    ):
        ask(change(CLIENT_METRICS, name, (setting, SET, value)))
    ask(change(CLIENT_METRICS, "", ("interval.ms", SET, "60000")))
    ask(describe(CLIENT_METRICS, name), 4)
    ask(change(CLIENT_METRICS, name, ("interval.ms", DELETE, None), ("metrics", DELETE, None)))


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def several_resources_in_one_request(ask: Ask) -> None:
    topic, group = ask.topic(), ask.name("group")
    request = change(TOPIC, topic, ("retention.ms", SET, "5000"))
    request.resources += change(GROUP, group, ("consumer.session.timeout.ms", SET, "1")).resources
    request.resources += change(BROKER, "7", ("log.cleaner.backoff.ms", SET, "1")).resources
    request.resources += change(BROKER_LOGGER, "1", (LOGGER, SET, "LOUD")).resources
    request.resources += change(99, "x", ("a", SET, "1")).resources
    ask(request)
    until_value(ask, TOPIC, topic, "retention.ms", "5000")
