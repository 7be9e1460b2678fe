"""DescribeConfigs, IncrementalAlterConfigs, AlterConfigs, ListConfigResources."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages import alter_configs, incremental_alter_configs
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.list_config_resources import ListConfigResourcesRequest

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def describe(kind: int, name: str, *keys: str, **options: bool) -> DescribeConfigsRequest:
    return DescribeConfigsRequest([DescribeConfigsResource(kind, name, list(keys) or None)], **options)


# ---- DescribeConfigs


@case(ApiKey.DESCRIBE_CONFIGS)
def every_setting_of_a_topic(ask: Ask) -> None:
    topic = ask.topic(retention_ms="60000", cleanup_policy="compact")
    ask(describe(TOPIC, topic))
    ask(describe(TOPIC, topic, include_synonyms=True))


@case(ApiKey.DESCRIBE_CONFIGS, since=3)
def with_documentation(ask: Ask) -> None:
    ask(describe(TOPIC, ask.topic(), include_synonyms=True, include_documentation=True))
    ask(describe(BROKER, "1", "log.retention.ms", "log.dirs", include_documentation=True))


@case(ApiKey.DESCRIBE_CONFIGS)
def the_root_logger(ask: Ask) -> None:
    ask.quietly(change(BROKER_LOGGER, "1", ("root", SET, "ERROR")), 1)
    ask(describe(BROKER_LOGGER, "1", "root"))
    ask(describe(BROKER_LOGGER, "1", "root", include_synonyms=True, include_documentation=ask.version >= 3))
    ask(describe(BROKER_LOGGER, "1", "no.such.logger"))
    ask(describe(BROKER_LOGGER, ""))
    ask(describe(BROKER_LOGGER, "7"))


@case(ApiKey.DESCRIBE_CONFIGS)
def some_settings(ask: Ask) -> None:
    topic = ask.topic()
    ask(describe(TOPIC, topic, "retention.ms", "no.such.setting", "segment.bytes"))
    ask(DescribeConfigsRequest([DescribeConfigsResource(TOPIC, topic, [])]))
    ask(describe(BROKER, "1", "log.retention.hours", "no.such.setting", include_synonyms=True))


@case(ApiKey.DESCRIBE_CONFIGS, since=4)
def every_setting_of_a_broker(ask: Ask) -> None:
    ask(describe(BROKER, "1"))
    ask(describe(BROKER, "1", include_synonyms=True))


@case(ApiKey.DESCRIBE_CONFIGS)
def what_is_not_there(ask: Ask) -> None:
    ask(describe(TOPIC, ask.name("none")))
    ask(describe(TOPIC, "no spaces"))
    ask(describe(TOPIC, ""))
    ask(describe(BROKER, "7"))
    ask(describe(BROKER, "one"))
    ask(describe(BROKER, ""))
    ask(describe(GROUP, ask.name("group")))
    ask(describe(GROUP, ""))
    ask(describe(CLIENT_METRICS, ask.name("metrics")))
    ask(describe(1, "x"))
    ask(describe(99, "x"))


# ---- IncrementalAlterConfigs


def change(kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False):
    configs = [incremental_alter_configs.AlterableConfig(*each) for each in changes]
    resource = incremental_alter_configs.AlterConfigsResource(kind, name, configs)
    return incremental_alter_configs.IncrementalAlterConfigsRequest([resource], validate_only)


def settled(ask: Ask, topic: str, name: str, value: str) -> None:
    """Waits until a topic's setting has the value, and keeps what is then said of it."""
    ask.until(
        lambda answer: answer.results[0].configs[0].value == value,
        describe(TOPIC, topic, name, include_synonyms=True),
        4,
    )


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def set_append_subtract_delete(ask: Ask) -> None:
    topic = ask.topic()
    ask(change(TOPIC, topic, ("delete.retention.ms", SET, "5000"), ("cleanup.policy", APPEND, "compact")))
    settled(ask, topic, "delete.retention.ms", "5000")
    settled(ask, topic, "cleanup.policy", "delete,compact")
    ask(change(TOPIC, topic, ("cleanup.policy", SUBTRACT, "delete"), ("delete.retention.ms", DELETE, None)))
    settled(ask, topic, "cleanup.policy", "compact")
    settled(ask, topic, "delete.retention.ms", "86400000")
    ask(change(TOPIC, topic, ("cleanup.policy", APPEND, "compact")))
    ask(change(TOPIC, topic, ("cleanup.policy", SUBTRACT, "delete")))
    ask(change(TOPIC, topic, ("segment.bytes", DELETE, None)))
    settled(ask, topic, "segment.bytes", "1073741824")


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def validated_only(ask: Ask) -> None:
    topic = ask.topic()
    ask(change(TOPIC, topic, ("retention.ms", SET, "5000"), validate_only=True))
    ask(change(TOPIC, topic, ("retention.ms", SET, "soon"), validate_only=True))
    ask(describe(TOPIC, topic, "retention.ms"), 4)


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def refused_changes_of_a_topic(ask: Ask) -> None:
    topic = ask.topic()
    ask(change(TOPIC, topic, ("no.such.setting", SET, "1")))
    ask(change(TOPIC, topic, ("no.such.setting", DELETE, None)))
    ask(change(TOPIC, topic, ("retention.ms", SET, "soon")))
    ask(change(TOPIC, topic, ("retention.ms", SET, None)))
    ask(change(TOPIC, topic, ("retention.ms", APPEND, "5")))
    ask(change(TOPIC, topic, ("retention.ms", SUBTRACT, "5")))
    ask(change(TOPIC, topic, ("retention.ms", 9, "5")))
    ask(change(TOPIC, topic, ("retention.ms", SET, "1"), ("retention.ms", SET, "2")))
    ask(change(TOPIC, topic, ("cleanup.policy", APPEND, "burn")))
    ask(change(TOPIC, topic, ("retention.ms", SET, "5"), ("segment.bytes", SET, "many")))
    ask(change(TOPIC, ask.name("none"), ("retention.ms", SET, "5")))
    ask(change(TOPIC, "no spaces", ("retention.ms", SET, "5")))
    ask(change(TOPIC, "", ("retention.ms", SET, "5")))
    ask(change(TOPIC, topic))
    ask(describe(TOPIC, topic, "retention.ms"), 4)


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def refused_changes_of_a_broker(ask: Ask) -> None:
    ask(change(BROKER, "1", ("log.dirs", SET, "/elsewhere")))
    ask(change(BROKER, "1", ("no.such.setting", SET, "1")))
    ask(change(BROKER, "1", ("log.cleaner.threads", SET, "many")))
    ask(change(BROKER, "7", ("log.cleaner.threads", SET, "1")))
    ask(change(BROKER, "one", ("log.cleaner.threads", SET, "1")))
    ask(change(1, "x", ("a", SET, "1")))
    ask(change(99, "x", ("a", SET, "1")))


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def the_same_resource_twice(ask: Ask) -> None:
    request = change(TOPIC, ask.topic(), ("retention.ms", SET, "5000"))
    request.resources *= 2
    ask(request)


@case(ApiKey.INCREMENTAL_ALTER_CONFIGS)
def settings_of_a_broker_and_of_the_cluster(ask: Ask) -> None:
    for name in ("1", ""):
        ask(change(BROKER, name, ("log.cleaner.backoff.ms", SET, "7777")))
        value_is = lambda wanted: lambda answer: answer.results[0].configs[0].value == wanted  # noqa: E731
        asked = describe(BROKER, "1", "log.cleaner.backoff.ms", include_synonyms=True)
        ask.until(value_is("7777"), asked, 4)
        ask(change(BROKER, name, ("log.cleaner.backoff.ms", DELETE, None)))
        ask.until(value_is("15000"), asked, 4)


# ---- AlterConfigs


def replace(kind: int, name: str, *settings: tuple[str, str | None], validate_only: bool = False):
    configs = [alter_configs.AlterableConfig(*each) for each in settings]
    return alter_configs.AlterConfigsRequest([alter_configs.AlterConfigsResource(kind, name, configs)], validate_only)


@case(ApiKey.ALTER_CONFIGS)
def replaced_as_a_whole(ask: Ask) -> None:
    topic = ask.topic(delete_retention_ms="60000")
    ask(replace(TOPIC, topic, ("segment.bytes", "2000000"), validate_only=True))
    ask(replace(TOPIC, topic, ("segment.bytes", "2000000")))
    settled(ask, topic, "segment.bytes", "2000000")
    settled(ask, topic, "delete.retention.ms", "86400000")
    ask(replace(TOPIC, topic))
    settled(ask, topic, "segment.bytes", "1073741824")


@case(ApiKey.ALTER_CONFIGS)
def refused_replacements(ask: Ask) -> None:
    topic = ask.topic()
    ask(replace(TOPIC, topic, ("no.such.setting", "1")))
    ask(replace(TOPIC, topic, ("retention.ms", "soon")))
    ask(replace(TOPIC, topic, ("retention.ms", None)))
    ask(replace(TOPIC, topic, ("retention.ms", "1"), ("retention.ms", "2")))
    ask(replace(TOPIC, ask.name("none"), ("retention.ms", "1")))
    ask(replace(BROKER, "7", ("log.cleaner.threads", "1")))
    ask(replace(1, "x", ("a", "1")))


# ---- ListConfigResources


@case(ApiKey.LIST_CONFIG_RESOURCES)
def metrics_subscriptions(ask: Ask) -> None:
    ask(ListConfigResourcesRequest([]) if ask.version == 0 else ListConfigResourcesRequest([CLIENT_METRICS]))


@case(ApiKey.LIST_CONFIG_RESOURCES, since=1)
def resources_by_type(ask: Ask) -> None:
    topic = ask.topic()
    listed = ask.quietly(ListConfigResourcesRequest([TOPIC]), 1)
    ask.keep([listed.error_code, topic in {resource.resource_name for resource in listed.config_resources}])
    ask(ListConfigResourcesRequest([BROKER]))
    ask(ListConfigResourcesRequest([BROKER_LOGGER]))
    ask(ListConfigResourcesRequest([99]))
    everything = ask.quietly(ListConfigResourcesRequest([]), 1)
    left_by_others = {GROUP, CLIENT_METRICS}
    ask.keep(sorted({resource.resource_type for resource in everything.config_resources} - left_by_others))
