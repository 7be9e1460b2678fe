"""The security of brokers for tests: set up on request, and altered while they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pykbroker.brokers.resources import alter_resources
from pykbroker.config.setting import ConfigError
from pykbroker.controller.config_alterations import Alteration, Change, Operation
from pykbroker.extras import install_hint
from pykbroker.metadata.image import BROKER_RESOURCE
from pykbroker.runtime.clock import SystemClock

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.ready_made import ReadyMade
    from pykbroker.wire.errors import KafkaError

DEFAULT_USERS: Final = {"alice": "alice-secret"}


def ready_made(protocol: str, users: Mapping[str, str] | None, host: str) -> ReadyMade:
    """A secured listener for a test's broker. Raises ConfigError if the extra is missing, ValueError for another protocol."""
    try:
        from pykbroker.security.ready_made import ReadyMade
    except ImportError as error:
        raise ConfigError(f"security needs the package {error.name}: {install_hint('security')}") from error
    return ReadyMade(protocol, users or DEFAULT_USERS, SystemClock().now_ms, hosts=[host])


def another_certificate(security: ReadyMade, days: float) -> dict[str, str]:
    """The settings of the listener with a new certificate; negative days make an expired one."""
    prefix = f"listener.name.{security.protocol.lower()}."
    return {f"{prefix}{name}": value for name, value in security.key_store(days).items()}


def alter(cluster: Cluster, settings: Mapping[str, str]) -> Deferred[None]:
    """Alter dynamic settings of the broker. Fails with KafkaError INVALID_REQUEST if they are not valid."""
    node_id = cluster.config.node_id
    changes = [Change(name, Operation.SET, value) for name, value in settings.items()]
    wanted = [Alteration(BROKER_RESOURCE, str(node_id), changes)]
    return alter_resources(cluster.brokers[node_id], None, wanted, loggers=False, validate_only=False).map(_check)


def _check(errors: list[KafkaError | None]) -> None:
    for error in errors:
        if error is not None:
            raise error
