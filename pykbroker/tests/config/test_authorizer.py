"""The authorizer's own settings, and what of them is refused at the start."""

from __future__ import annotations

import pytest

from pykbroker.config import unserved
from pykbroker.config.authorizer import AuthorizerSettings
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.security.authorizer import STANDARD_AUTHORIZER


def settings(**more: str) -> BrokerConfig:
    given = {name.replace("_", "."): value for name, value in more.items()}
    return BrokerConfig({"authorizer.class.name": STANDARD_AUTHORIZER, **given})


def test_super_users_are_separated_by_semicolons() -> None:
    found = AuthorizerSettings.of(settings(super_users="User:admin; User:CN=a,O=b ;"))
    assert found == AuthorizerSettings(frozenset({"User:admin", "User:CN=a,O=b"}), allow_everyone=False)


@pytest.mark.parametrize(
    ("text", "everyone"), [("true", True), (" TRUE ", True), ("false", False), ("yes", False), ("", False)]
)
def test_everyone_where_there_is_no_list(text: str, everyone: bool) -> None:
    assert AuthorizerSettings.of(settings(allow_everyone_if_no_acl_found=text)).allow_everyone is everyone


def test_they_are_known_though_they_stand_in_no_table() -> None:
    config = settings(super_users="User:a", allow_everyone_if_no_acl_found="true")
    assert config.unknown == ()
    unserved.check(config)
    assert list(unserved.warnings(config)) == []


@pytest.mark.parametrize("name", ["kafka.security.authorizer.AclAuthorizer", "com.example.Mine"])
def test_another_class_is_refused_with_the_one_that_there_is(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: classes of Java are not run here.*{STANDARD_AUTHORIZER}"):
        unserved.check(settings(authorizer_class_name=name))


def test_a_super_user_that_is_no_principal_is_refused_with_how_to_write_it() -> None:
    with pytest.raises(ConfigError, match="write User:admin"):
        unserved.check(settings(super_users="User:a;admin"))
