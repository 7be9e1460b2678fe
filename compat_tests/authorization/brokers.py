"""Both brokers with access lists, and users who sign in with a password: the same settings for either."""

from __future__ import annotations

from pathlib import Path

from compat_tests.authorization.signing import ADMIN, PASSWORD
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.tests.kit.ports import free_ports

SASL = "SASL_PLAINTEXT"
#: Who asks: each case and version has one of its own, so that nobody has another's rights.
USERS = tuple(f"user{number}" for number in range(64))


class Addresses:
    """Ports of a broker: the harness's own, on which brokers and their controller talk as super users, and one for users."""

    def __init__(self) -> None:
        self.plain, self.signed = free_ports(2)

    @property
    def users(self) -> str:
        return f"127.0.0.1:{self.signed}"

    @property
    def listeners(self) -> str:
        return f"PLAINTEXT://127.0.0.1:{self.plain},{SASL}://{self.users}"

    @property
    def settings(self) -> dict[str, str]:
        users = " ".join(f'user_{name}="{PASSWORD.format(name)}"' for name in (ADMIN, *USERS))
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return {
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{SASL}:{SASL}",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{module} required {users};",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": f"User:{ADMIN};User:ANONYMOUS",
            "delegation.token.secret.key": "key",
        }


class AuthorizingKafka(ApacheKafka):
    """Apache Kafka."""

    def __init__(self, folder: Path, addresses: Addresses) -> None:
        super().__init__(folder, {**addresses.settings, "advertised.listeners": addresses.listeners})
        self._addresses = addresses
        self.port = addresses.plain

    def _roles(self, controller: str) -> dict[str, str]:
        roles = super()._roles(controller)
        return {**roles, "listeners": f"{self._addresses.listeners},CONTROLLER://{controller}"}


class AuthorizingPykbroker(Pykbroker):
    """pykbroker."""

    def __init__(self, folder: Path, addresses: Addresses) -> None:
        super().__init__(folder, {**addresses.settings, "listeners": addresses.listeners})
        self.port = addresses.plain
