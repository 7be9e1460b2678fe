"""Settings that name classes of Java on whose effect an operator relies: which values are served here.

Other values are refused at the start, as Apache Kafka refuses a class that it cannot find.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from pykbroker.config.setting import ConfigError

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig

#: The only supported value of replica.selector.class, besides none.
RACK_AWARE: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

_LISTENER: Final = "listener.name."


class Served(NamedTuple):
    """The values of one setting that are served, and what an operator does who wrote another."""

    values: tuple[str, ...]
    instead: str


SERVED: Final = {
    "config.providers": Served((), "Take it out, and write the values themselves."),
    "group.consumer.assignors": Served(
        (
            "uniform",
            "range",
            "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
            "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
        ),
        "The assignors that there are: uniform, range.",
    ),
    "group.share.assignors": Served(
        ("simple", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor"), "The assignor that there is: simple."
    ),
    "group.streams.assignors": Served(
        ("sticky", "org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor"),
        "The assignor that there is: sticky.",
    ),
    "principal.builder.class": Served(
        ("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",),
        "Take it out: principals are built as Kafka's own class builds them.",
    ),
    "ssl.engine.factory.class": Served(
        ("org.apache.kafka.common.security.ssl.DefaultSslEngineFactory",),
        "Take it out, and name the key store in ssl.keystore.location.",
    ),
}


def check(config: BrokerConfig) -> None:
    """Raises ConfigError for a class that is not served, in a setting or in a listener's own."""
    for name, text in config.explicit.items():
        served = SERVED.get(_without_listener(name))
        if served is not None:
            for value in _named(text):
                if value not in served.values:
                    raise ConfigError(f"{name} asks for {value}: classes of Java are not run here. {served.instead}")


def _without_listener(name: str) -> str:
    return name.removeprefix(_LISTENER).partition(".")[2] if name.startswith(_LISTENER) else name


def _named(text: str) -> Iterator[str]:
    return filter(None, (value.strip() for value in text.split(",")))
