"""The security of connections that this broker makes, to controllers and other brokers: the settings of the listener that it connects to, as Kafka's
brokers take them (``listener.name.NAME.ssl.*``, ``listener.name.NAME.MECHANISM.sasl.jaas.config``). Certificates are read again for the first
connection after a file has changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pykbroker.process.log_directories import StartFailed
from pykbroker.security.client.settings import KNOWN, ClientSecurity, ClientSettingsError, client_security

if TYPE_CHECKING:
    import random

    from pykbroker.config.broker import BrokerConfig
    from pykbroker.runtime.clock import Clock

log = logging.getLogger(__name__)

_NONCE_BYTES: Final = 18


def security_to(
    config: BrokerConfig, listener: str, mechanism_setting: str, clock: Clock, rng: random.Random
) -> Callable[[], ClientSecurity | None]:
    """That of the next connection to a listener, None for PLAINTEXT; ``mechanism_setting`` names its SASL mechanism. Raises StartFailed."""
    protocol = config.security_protocols[listener]
    if protocol == "PLAINTEXT":
        return lambda: None
    mechanism = str(config[mechanism_setting])
    prefixes = (f"listener.name.{listener.lower()}.{mechanism.lower()}.", f"listener.name.{listener.lower()}.", "")
    settings = {name: text for name in KNOWN if (text := _first(config.explicit, prefixes, name)) is not None}
    settings |= {"security.protocol": protocol, "sasl.mechanism": mechanism}
    try:
        return _Renewed(
            listener,
            [text for name, text in settings.items() if name.endswith(".location")],
            lambda: client_security(settings, clock.now_ms, lambda: rng.randbytes(_NONCE_BYTES).hex()),
        )
    except ClientSettingsError as error:
        hint = f" ({prefixes[0]}sasl.jaas.config)" if protocol.startswith("SASL") else ""
        raise StartFailed(f"the way to the listener {listener}, by {protocol}, is not set{hint}: {error}") from error


def _first(texts: Mapping[str, str], prefixes: tuple[str, ...], name: str) -> str | None:
    return next((texts[prefix + name] for prefix in prefixes if prefix + name in texts), None)


class _Renewed:
    """What ``make`` returns, made again when one of the files has changed; as long as it raises ClientSettingsError then, the former holds."""

    def __init__(self, listener: str, files: list[str], make: Callable[[], ClientSecurity | None]) -> None:
        self._listener = listener
        self._files = files
        self._make = make
        self._stamps = self._look()
        self._made = make()

    def __call__(self) -> ClientSecurity | None:
        stamps = self._look()
        if stamps != self._stamps:
            try:
                self._made = self._make()
            except ClientSettingsError as error:
                log.warning("Connections to the listener %s have the certificates of before: %s", self._listener, error)
            else:
                self._stamps = stamps
                log.info("Connections to the listener %s have renewed certificates", self._listener)
        return self._made

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(file) for file in self._files]


def _stamp(file: str) -> tuple[int, int, int] | None:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
