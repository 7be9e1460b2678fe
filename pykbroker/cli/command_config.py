"""``--command-config``: a file with Kafka's client properties, which says how to connect and as whom."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.cli.output import Output
from pykbroker.client.errors import UsageError

if TYPE_CHECKING:
    from pykbroker.security.client.settings import ClientSecurity


def read(path: Path | None) -> dict[str, str]:
    """Return the settings in the file; none without a file. Raises UsageError."""
    if path is None:
        return {}
    from pykbroker.storage.properties import load

    try:
        return load(path)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--command-config {path} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from error


def warn_of_unknown(settings: Mapping[str, str]) -> None:
    """Warn of unknown settings, which are ignored, as Kafka's clients do."""
    if not settings:
        return
    from pykbroker.config.unserved import nearest
    from pykbroker.security.client.settings import KNOWN, unknown

    for name in unknown(settings):
        meant = nearest(name, sorted(KNOWN))
        Output(as_json=False).remark(
            f"Kafka's clients have no setting {name}" + (f"; did you mean {meant}?" if meant else "; it is ignored.")
        )


def security_of(settings: Mapping[str, str]) -> ClientSecurity | None:
    """Return how to connect; None for plaintext. Raises UsageError."""
    if settings.get("security.protocol", "PLAINTEXT") == "PLAINTEXT":
        return None
    from pykbroker.runtime.clock import SystemClock
    from pykbroker.security.client.settings import ClientSettingsError, client_security

    try:
        return client_security(settings, SystemClock().now_ms, secrets.token_urlsafe)
    except ClientSettingsError as error:
        raise UsageError(f"The connection settings are invalid: {error}.") from error
