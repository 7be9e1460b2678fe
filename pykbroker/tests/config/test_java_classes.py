"""Settings that name classes of Java: refused where an operator relies on the class, and those that are served."""

from __future__ import annotations

import pytest

from pykbroker.config import unserved
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.java_classes import SERVED
from pykbroker.config.setting import ConfigError
from pykbroker.coordination.groups.assignors import ASSIGNORS
from pykbroker.coordination.groups.consumer.settings import ConsumerSettings

ASSIGNOR = "group.consumer.assignors"
_PACKAGE = "org.apache.kafka.coordinator.group.assignor"


@pytest.mark.parametrize("name", sorted(SERVED))
@pytest.mark.parametrize("value", ["com.example.Mine", "cooperative"])
def test_another_class_is_refused_with_its_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name} asks for {value}: classes of Java are not run here"):
        unserved.check(BrokerConfig({name: value}))


@pytest.mark.parametrize("name", sorted(SERVED))
def test_what_is_served_is_accepted_one_by_one_and_together(name: str) -> None:
    for value in SERVED[name].values:
        unserved.check(BrokerConfig({name: value}))
    unserved.check(BrokerConfig())


@pytest.mark.parametrize("value", ["Uniform", "uniform,org.apache.kafka.Sticky", "range,simple"])
def test_one_unknown_assignor_among_others_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=f"{ASSIGNOR} asks for {value.rpartition(',')[2]}: .*uniform, range"):
        unserved.check(BrokerConfig({ASSIGNOR: value}))


def test_every_assignor_that_is_accepted_can_be_run() -> None:
    for value in SERVED[ASSIGNOR].values:
        [assignor] = ConsumerSettings.from_config(BrokerConfig({ASSIGNOR: value})).assignors
        assert assignor in ASSIGNORS
    assert ConsumerSettings.from_config(BrokerConfig({ASSIGNOR: f"{_PACKAGE}.RangeAssignor,uniform"})).assignors == (
        "range",
        "uniform",
    )


def test_a_listeners_own_principal_builder_is_refused_too() -> None:
    name = "listener.name.internal.principal.builder.class"
    with pytest.raises(ConfigError, match=f"^{name} asks for com.example.Mine"):
        unserved.check(BrokerConfig({name: "com.example.Mine"}))


def test_config_providers_are_refused_because_a_secret_would_be_taken_for_its_reference() -> None:
    with pytest.raises(ConfigError, match=r"config.providers asks for file: .* write the values themselves"):
        unserved.check(BrokerConfig({"config.providers": "file"}))


@pytest.mark.parametrize("name", ["kafka.metrics.reporters", "security.providers", "replica.selector.class"])
def test_a_class_that_is_only_missed_is_warned_of(name: str) -> None:
    config = BrokerConfig({name: "com.example.Mine"})
    unserved.check(config)
    [warning] = unserved.warnings(config)
    assert warning.startswith(f"The setting {name} has no effect: ")


def test_the_selector_by_racks_is_served_without_a_warning() -> None:
    config = BrokerConfig({"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"})
    assert list(unserved.warnings(config)) == []
