"""The settings by which clients of every kind connect to a listener that was made ready for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

_MODULES: Final = "org.apache.kafka.common.security"


class Shown(Protocol):
    """Whom clients believe, and what they show of themselves, in the form that each kind of client takes."""

    def to_java(self, name: str | None) -> dict[str, str]:
        """``ssl.truststore.*``; with the ``name`` of a client ``ssl.keystore.*`` as well."""
        ...

    def to_librdkafka(self, name: str | None) -> dict[str, str]:
        """``ssl.ca.*``, and of the client ``ssl.certificate.*`` and ``ssl.key.*``."""
        ...

    def to_python(self, name: str | None) -> dict[str, Any]:
        """``ssl_...``, arguments of kafka-python and of aiokafka."""
        ...


class ClientSettings:
    """``users`` are those of PLAIN, by name, with their passwords; under SSL their names are those of certificates."""

    def __init__(self, protocol: str, users: Mapping[str, str], shown: Shown) -> None:
        self.protocol = protocol
        self.users = dict(users)
        self._shown = shown

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    def java(self, user: str | None = None) -> dict[str, str]:
        """Settings of Kafka's own clients and tools, and of pykbroker's commands: for a user, or the first."""
        name = self._name(user)
        settings = {"security.protocol": self.protocol}
        if self.has_tls:
            settings |= self._shown.to_java(None if self.has_sasl else name)
        if self.has_sasl:
            login = f"username={quoted(name)} password={quoted(self.users[name])}"
            settings |= {
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required {login};",
            }
        return settings

    def spark(self, user: str | None = None) -> dict[str, str]:
        """Options of Spark's source and sink."""
        return {f"kafka.{name}": value for name, value in self.java(user).items()}

    def librdkafka(self, user: str | None = None) -> dict[str, str]:
        """Settings of librdkafka, and so of confluent-kafka."""
        name = self._name(user)
        settings = {"security.protocol": self.protocol}
        if self.has_tls:
            settings |= self._shown.to_librdkafka(None if self.has_sasl else name)
        if self.has_sasl:
            settings |= {"sasl.mechanism": "PLAIN", "sasl.username": name, "sasl.password": self.users[name]}
        return settings

    def python(self, user: str | None = None) -> dict[str, Any]:
        """Arguments of kafka-python and of aiokafka."""
        name = self._name(user)
        settings: dict[str, Any] = {"security_protocol": self.protocol}
        if self.has_tls:
            settings |= self._shown.to_python(None if self.has_sasl else name)
        if self.has_sasl:
            settings |= {
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": name,
                "sasl_plain_password": self.users[name],
            }
        return settings

    def _name(self, user: str | None) -> str:
        name = next(iter(self.users)) if user is None else user
        if self.has_sasl and name not in self.users:
            raise ValueError(f"there is no user {name!r}; there are: {', '.join(self.users)}")
        return name


def quoted(text: str) -> str:
    """As JAAS has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
