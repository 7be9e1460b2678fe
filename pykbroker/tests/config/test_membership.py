from __future__ import annotations

import re

import pytest

from pykbroker.config import unserved
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.membership import Controllers, controllers, is_member
from pykbroker.config.setting import ConfigError

GOOD = {
    "process.roles": "broker",
    "node.id": "4",
    "listeners": "PLAINTEXT://:9092",
    "controller.quorum.bootstrap.servers": "c1:9093,[::1]:9094",
}


def test_where_the_controllers_are() -> None:
    config = BrokerConfig(GOOD)
    assert is_member(config)
    unserved.check(config)
    assert list(unserved.warnings(config)) == []
    assert controllers(config) == Controllers([("c1", 9093), ("::1", 9094)], {}, "CONTROLLER")


def test_static_voters() -> None:
    settings = GOOD | {"controller.quorum.bootstrap.servers": "", "controller.quorum.voters": "1@c1:9093,2@c2:9093"}
    voters = {1: ("c1", 9093), 2: ("c2", 9093)}
    assert controllers(BrokerConfig(settings)) == Controllers([*voters.values()], voters, "CONTROLLER")


@pytest.mark.parametrize("roles", [{}, {"process.roles": "broker,controller"}])
def test_who_has_its_own_controller_is_no_member(roles: dict[str, str]) -> None:
    assert not is_member(BrokerConfig(roles))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"controller.quorum.bootstrap.servers": ""}, "set controller.quorum.bootstrap.servers=HOST:PORT"),
        ({"node.id": None}, "needs node.id"),
        ({"listeners": None}, "needs listeners"),
        (
            {"controller.listener.names": "C", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
            "controller.listener.names is C, which listener.security.protocol.map does not name",
        ),
        (
            {
                "listeners": "A://:9092",
                "listener.security.protocol.map": "A:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            },
            "set inter.broker.listener.name to one of listeners",
        ),
    ],
)
def test_what_is_missing_is_said(changed: dict[str, str | None], said: str) -> None:
    settings = {name: value for name, value in (GOOD | changed).items() if value is not None}
    with pytest.raises(ConfigError, match=re.escape(said)):
        unserved.check(BrokerConfig(settings))
