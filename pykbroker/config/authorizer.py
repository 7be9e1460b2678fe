"""Settings of the authorizer. In Kafka they belong to the authorizer's class, so no table of settings has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pykbroker.config.setting import ConfigError
from pykbroker.security.authorizer import STANDARD_AUTHORIZER

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig

AUTHORIZER: Final = "authorizer.class.name"
SUPER_USERS: Final = "super.users"
ALLOW_EVERYONE: Final = "allow.everyone.if.no.acl.found"


class AuthorizerSettings(NamedTuple):
    """``super_users`` are principals; ``allow_everyone`` applies to resources that no access list matches."""

    super_users: frozenset[str]
    allow_everyone: bool

    @classmethod
    def of(cls, config: BrokerConfig) -> AuthorizerSettings:
        """Read a broker's settings. Raises ConfigError."""
        name = config[AUTHORIZER]
        if name != STANDARD_AUTHORIZER:
            raise ConfigError(
                f"{AUTHORIZER} asks for {name}: classes of Java are not run here. The authorizer that there is, with the "
                f"access lists of Kafka, is {STANDARD_AUTHORIZER}."
            )
        users = [user.strip() for user in config.explicit.get(SUPER_USERS, "").split(";")]
        for user in users:
            if user and ":" not in user:
                raise ConfigError(
                    f"{SUPER_USERS} names {user!r}, which is no principal: write User:{user}, and a semicolon between two"
                )
        allow_everyone = config.explicit.get(ALLOW_EVERYONE, "").strip().lower() == "true"
        return cls(frozenset(filter(None, users)), allow_everyone)
