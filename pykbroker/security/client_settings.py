"""Settings with which clients of every kind connect to a listener that ``ready_made.py`` has set up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

_MODULES: Final = "org.apache.kafka.common.security"


class StoreForms(Protocol):
    """Trust stores and key stores of clients, in the form that each kind of client takes."""

    def to_java(self, name: str | None) -> dict[str, str]:
        """``ssl.truststore.*``, and with the ``name`` of a client also ``ssl.keystore.*``."""
        ...

    def to_librdkafka(self, name: str | None) -> dict[str, str]:
        """``ssl.ca.*``, and with the ``name`` of a client also ``ssl.certificate.*`` and ``ssl.key.*``."""
        ...

    def to_python(self, name: str | None) -> dict[str, Any]:
        """``ssl_...`` arguments of kafka-python and aiokafka."""
        ...


class ClientSettings:
    """``users`` are the users of PLAIN with their passwords; with SSL, the names in client certificates."""

    def __init__(self, protocol: str, users: Mapping[str, str], store_forms: StoreForms) -> None:
        self.protocol = protocol
        self.users = dict(users)
        self._store_forms = store_forms

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    def java(self, user: str | None = None) -> dict[str, str]:
        """Settings of Kafka's own clients and tools and of pykbroker's commands, for ``user`` or the first user.

        This and the other methods raise ValueError for an unknown user of SASL.
        """
        name = self._name(user)
        settings = {"security.protocol": self.protocol}
        if self.has_tls:
            settings |= self._store_forms.to_java(None if self.has_sasl else name)
        if self.has_sasl:
            login = f"username={quoted(name)} password={quoted(self.users[name])}"
            settings |= {
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required {login};",
            }
        return settings

    def spark(self, user: str | None = None) -> dict[str, str]:
        """Options of Spark's Kafka source and sink."""
        return {f"kafka.{name}": value for name, value in self.java(user).items()}

    def librdkafka(self, user: str | None = None) -> dict[str, str]:
        """Settings of librdkafka and its clients, such as confluent-kafka."""
        name = self._name(user)
        settings = {"security.protocol": self.protocol}
        if self.has_tls:
            settings |= self._store_forms.to_librdkafka(None if self.has_sasl else name)
        if self.has_sasl:
            settings |= {"sasl.mechanism": "PLAIN", "sasl.username": name, "sasl.password": self.users[name]}
        return settings

    def python(self, user: str | None = None) -> dict[str, Any]:
        """Arguments of kafka-python and aiokafka."""
        name = self._name(user)
        settings: dict[str, Any] = {"security_protocol": self.protocol}
        if self.has_tls:
            settings |= self._store_forms.to_python(None if self.has_sasl else name)
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
    """The text as a quoted value of JAAS."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
