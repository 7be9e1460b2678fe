"""Settings that are valid in Kafka and unsupported here: refused at the start, or logged as a warning.

Settings on whose effect an operator relies (security, another cluster) are refused. Others give a warning, so that existing files
(Kafka's own server.properties, those of images) work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from pykbroker.config import java_classes, membership
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.definitions.broker import BROKER_SETTINGS
from pykbroker.config.listeners import parse_listeners
from pykbroker.config.setting import ConfigError

#: Settings that have no effect here if set, or set above this value, with the text of the warning.
_WITHOUT_EFFECT: Final = {
    "remote.log.storage.system.enable": "there is no tiered storage: all data stays in the log directories",
    "create.topic.policy.class.name": "classes of Java are not run: every topic may be created",
    "alter.config.policy.class.name": "classes of Java are not run: every setting may be altered",
    "client.quota.callback.class": "classes of Java are not run: quotas are not divided by it",
    "metric.reporters": "classes of Java are not run: no metrics are reported by them",
    "group.streams.topology.description.plugin.class": "classes of Java are not run: no topology is described",
    "kafka.metrics.reporters": "classes of Java are not run: no metrics are reported by them",
    "security.providers": "classes of Java are not run: TLS and SASL have the algorithms of this machine's OpenSSL",
    "replica.selector.class": "classes of Java are not run: consumers read from the leader",
}
#: Settings of earlier releases, or the beginnings of their names, with what to do.
_FORMER: Final = {
    "zookeeper.": "ZooKeeper is not used, and Kafka 4.0 removed it; leave the setting out",
    "advertised.host.name.": "write advertised.listeners=PLAINTEXT://HOST:PORT",
    "advertised.port.": "write advertised.listeners=PLAINTEXT://HOST:PORT",
    "host.name.": "write listeners=PLAINTEXT://HOST:PORT",
    "port.": "write listeners=PLAINTEXT://HOST:PORT",
}
_ROLES: Final = "process.roles"
_VOTERS: Final = "controller.quorum.voters"
_BOOTSTRAP: Final = "controller.quorum.bootstrap.servers"
_HERE: Final = "the controller of this broker is in the same process"


def check(config: BrokerConfig) -> None:
    """Raises ConfigError for unsupported settings. ``config`` has the node's id."""
    if config["authorizer.class.name"]:
        from pykbroker.config.authorizer import AuthorizerSettings

        AuthorizerSettings.of(config)
    java_classes.check(config)
    _check_quorum(config)


def _check_quorum(config: BrokerConfig) -> None:
    if membership.is_member(config):
        membership.controllers(config)
        return
    roles = set(config[_ROLES])
    if config.is_explicit(_ROLES) and roles == {"controller"}:
        raise ConfigError(
            f"{_ROLES}=controller asks for a controller without a broker, which is not served: {_HERE}. "
            f"Take the setting out, or write {_ROLES}=broker,controller."
        )
    voters = [voter.partition("@")[0] for voter in config[_VOTERS]]
    if config.is_explicit(_VOTERS) and voters and voters != [str(config.node_id)]:
        raise ConfigError(
            f"{_VOTERS}={','.join(config[_VOTERS])} asks for a quorum that is not this node {config.node_id} alone, while "
            f"{_HERE}. Take the setting out for a cluster of its own, or write {_ROLES}=broker to join that cluster as a broker."
        )


def check_known(config: BrokerConfig, options: Callable[[], Iterable[str]] = tuple) -> None:
    """For tests, which nobody reads the log of: raises ConfigError for a setting that Kafka does not have, with similar names. ``options`` are
    keywords beside the settings.
    """
    for name in config.unknown:
        meant = " or ".join(filter(None, (nearest(name, options()), nearest(name, config))))
        raise ConfigError(
            f"Kafka has no broker setting {name}"
            + (f"; did you mean {meant}?" if meant else "; see the list of settings in Kafka's documentation")
        )


def warnings(config: BrokerConfig) -> Iterator[str]:
    """Warnings about settings without effect, or with another one than in Kafka, a sentence each."""
    for name in config.unknown:
        gone = next((why for former, why in _FORMER.items() if f"{name}.".startswith(former)), None)
        if gone is not None:
            yield f"The setting {name} is ignored: {gone}"
            continue
        meant = nearest(name, config)
        yield f"The setting {name} is not known to Kafka {config.definitions.release} and is ignored" + (
            f": did you mean {meant}?" if meant else ""
        )
    for name in sorted(config.explicit.keys() & config.definitions.broker.keys() - BROKER_SETTINGS.keys()):
        yield f"The setting {name} has no effect: this broker has no use for it, whatever Kafka it is taken for"
    for name, instead in _WITHOUT_EFFECT.items():
        if config.is_explicit(name) and config[name] and config[name] != java_classes.RACK_AWARE:
            yield f"The setting {name} has no effect: {instead}"
    if membership.is_member(config):
        return
    unopened = [listener for listener in _of_controllers(config) if config.is_explicit("listeners")]
    if unopened:
        yield f"The controller's listener {', '.join(unopened)} is not opened: {_HERE}"
    elsewhere = [server for server in config[_BOOTSTRAP] if not _is_here(server, config)]
    if elsewhere:
        yield f"{_BOOTSTRAP} names {', '.join(elsewhere)}, and this broker does not connect to it: {_HERE}, alone in its quorum"
    for voter in config[_VOTERS]:
        if not _is_here(voter.partition("@")[2], config):
            yield f"{_VOTERS} names {voter}, and this broker does not connect to it: {_HERE}"


def nearest(name: str, config: Iterable[str] | BrokerConfig) -> str | None:
    """The setting most similar to a misspelt name, or None."""
    from difflib import get_close_matches

    known = list(config.names()) if isinstance(config, BrokerConfig) else list(config)
    return next(iter(get_close_matches(name.lower().replace("_", "."), known, 1, 0.8)), None)


def _of_controllers(config: BrokerConfig) -> list[str]:
    names = {name.upper() for name in config["controller.listener.names"]}
    every = parse_listeners("listeners", config["listeners"], config.security_protocols)
    return [f"{listener.name}://{listener.host or ''}:{listener.port}" for listener in every if listener.name in names]


def _is_here(server: str, config: BrokerConfig) -> bool:
    """Whether an address is one of the controller's listeners, or of this machine as far as its name says."""
    host = server.rpartition(":")[0].strip("[]")
    every = [
        *parse_listeners("listeners", config["listeners"], config.security_protocols),
        *config.advertised_listeners,
    ]
    own = {listener.host for listener in every}
    return host in {"", "localhost", "::1", "0.0.0.0"} | own or host.startswith("127.")  # noqa: S104 - not bound here
