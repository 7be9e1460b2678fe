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
    for setting, name in (
        (_LISTENERS, names[0].upper()),
        ("inter.broker.listener.name", config.inter_broker_listener_name),
    ):
        if name not in config.security_protocols:
            raise ConfigError(f"{setting} is {name}, which listener.security.protocol.map does not name")
    if config.inter_broker_listener_name not in [each.name for each in config.advertised_listeners]:
        raise ConfigError(
            f"{_ROLES}=broker needs a listener for other brokers, and there is none that is {config.inter_broker_listener_name}: set "
            "inter.broker.listener.name to one of listeners"
        )
    for required in ("node.id", "listeners"):
        if not config.is_explicit(required):
            raise ConfigError(f"{_ROLES}=broker needs {required}, which must be another for each node of the cluster")
    return Controllers(servers, voters, names[0].upper())


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
