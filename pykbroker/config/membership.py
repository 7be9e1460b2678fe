"""What the settings say of a quorum of controllers that other processes are (``process.roles=broker``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pykbroker.config.setting import ConfigError

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig

_ROLES: Final = "process.roles"
_VOTERS: Final = "controller.quorum.voters"
_BOOTSTRAP: Final = "controller.quorum.bootstrap.servers"
_LISTENERS: Final = "controller.listener.names"


class Controllers(NamedTuple):
    """Where the controllers are: those to ask first, and the voters by node id where these are static."""

    servers: list[tuple[str, int]]
    voters: dict[int, tuple[str, int]]
    #: The name of their listener.
    listener: str


def is_member(config: BrokerConfig) -> bool:
    """Whether this process is a broker of such a quorum."""
    return config.is_explicit(_ROLES) and set(config[_ROLES]) == {"broker"}


def controllers(config: BrokerConfig) -> Controllers:
    """See ``Controllers``. Raises ConfigError if the settings do not say it."""
    voters = {int(voter): _address(where) for voter, _, where in (each.partition("@") for each in config[_VOTERS])}
    servers = [_address(each) for each in config[_BOOTSTRAP]] or list(voters.values())
    if not servers:
        raise ConfigError(
            f"{_ROLES}=broker asks for a broker of a cluster whose controllers are elsewhere, and nothing says where: set "
            f"{_BOOTSTRAP}=HOST:PORT,... or, if the voters of the cluster are static, {_VOTERS}=ID@HOST:PORT,..."
        )
    names = config[_LISTENERS]
    if not names:
        raise ConfigError(
            f"{_ROLES}=broker needs {_LISTENERS}, the name of the controllers' listener, such as CONTROLLER: its security protocol is that "
            "of the connections to them"
        )
    between = config.inter_broker_listener_name
    for what, name in ((_LISTENERS, names[0].upper()), ("inter.broker.listener.name", between)):
        protocol = config.security_protocols.get(name)
        if protocol != "PLAINTEXT":
            raise ConfigError(
                f"{_ROLES}=broker connects to controllers and other brokers by PLAINTEXT alone so far, and {what}={name} has the security "
                f"protocol {protocol}: name a listener of PLAINTEXT there, in a network of their own"
            )
    for required in ("node.id", "listeners"):
        if not config.is_explicit(required):
            raise ConfigError(f"{_ROLES}=broker needs {required}, which must be another for each node of the cluster")
    return Controllers(servers, voters, names[0].upper())


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
