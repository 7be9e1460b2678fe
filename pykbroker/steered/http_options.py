"""The options of the HTTP side, address and access, validated at the start."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from pykbroker.config.setting import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from pykbroker.config.broker import BrokerConfig

_ADDRESS: Final = re.compile(r"(?:(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^\[\]:]+)):)?(?P<port>[0-9]{1,5})")
#: No user and no query: paths are appended to it.
_URL: Final = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?")
_LOOPBACK: Final = "127.0.0.1"
#: Shortest token; a shorter one could be guessed.
_SHORTEST_TOKEN: Final = 16


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """``token``: required for all but health.

    ``names``: further host names in requests, beside addresses, localhost, and the names of the machine and of listeners.

    ``schema_registry``: the address of another process's one, for the console.

    ``listener``: of the schema registry, the listener of the broker whose TLS and users it has.

    ``compatibility``: of the schema registry, the level where none has been set.

    ``patience_s``: how long a client may be idle, or keep the broker waiting; Prometheus asks once a minute or more often.
    """

    host: str
    port: int
    token: str | None = None
    names: frozenset[str] = frozenset()
    schema_registry: str | None = None
    patience_s: float = 75
    listener: str | None = None
    compatibility: str | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        return is_loopback(self.host)


def parse(
    address: str, token_file: Path | None = None, names: Iterable[str] = (), schema_registry: str | None = None
) -> HttpOptions:
    """Parse ``HOST:PORT``, ``[::1]:PORT`` or a port, which is on the loopback. Raises ConfigError."""
    found = _ADDRESS.fullmatch(address.strip())
    if found is None or int(found["port"]) > 65535:
        raise ConfigError(
            f"--http wants HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080, or a port of this machine, not {address!r}"
        )
    if schema_registry is not None and _URL.fullmatch(schema_registry) is None:
        raise ConfigError(
            f"--schema-registry wants http://HOST:PORT or https://HOST:PORT, perhaps with a path, not {schema_registry!r}"
        )
    return HttpOptions(
        found["six"] or found["host"] or _LOOPBACK,
        int(found["port"]),
        None if token_file is None else read_token(token_file),
        frozenset(map(str.lower, names)),
        schema_registry,
    )


def parse_registry(
    address: str,
    token_file: Path | None = None,
    names: Iterable[str] = (),
    listener: str | None = None,
    compatibility: str | None = None,
) -> HttpOptions:
    """Parse the address of our own schema registry, as that of the HTTP side. Raises ConfigError."""
    found = _ADDRESS.fullmatch(address.strip())
    if found is None or int(found["port"]) > 65535:
        raise ConfigError(
            f"--schema-registry wants [HOST:]PORT for one of the broker's own, or http://HOST:PORT of another, not {address!r}"
        )
    token = None if token_file is None else read_token(token_file)
    host = found["six"] or found["host"] or _LOOPBACK
    names = frozenset(map(str.lower, names))
    listener = None if listener is None else listener.upper()
    return HttpOptions(host, int(found["port"]), token, names, listener=listener, compatibility=compatibility)


def registry_url(address: str, token: str | None = None) -> str:
    """Return the URL of our own schema registry at ``address``, as clients are configured with it; a token is its password. With TLS,
    the address begins with https://.
    """
    user = "" if token is None else f"pykbroker:{quote(token, safe='')}@"
    scheme, _, where = address.rpartition("://")
    return f"{scheme or 'http'}://{user}{where}"


def read_token(path: Path) -> str:
    """Return the first line of a file. Raises ConfigError."""
    try:
        token = path.read_text().split("\n", 1)[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--http-token-file {path} cannot be read: {error}") from error
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"--http-token-file {path} must hold at least {_SHORTEST_TOKEN} printable characters in its first line; "
            "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token


def check(options: HttpOptions, config: BrokerConfig, option: str = "--http") -> None:
    """Require a token where the broker is protected, since ``option`` opens what shows the same data. Raises ConfigError."""
    protection = protected_by(config)
    if options.listener is not None:
        _check_listener(options.listener, config)
    elif protection is not None and options.token is None:
        raise ConfigError(
            f"{protection}, and {option} would show what is protected to everybody: "
            "name a file with a token that who asks must send, --http-token-file FILE"
        )


def _check_listener(name: str, config: BrokerConfig) -> None:
    found = next((each for each in config.listeners if each.name == name), None)
    if found is None or found.security_protocol == "PLAINTEXT":
        protected = [each.name for each in config.listeners if each.security_protocol != "PLAINTEXT"]
        raise ConfigError(
            f"--schema-registry-listener wants one of the broker's listeners with TLS or SASL ({', '.join(protected) or 'it has none'}), "
            f"not {name}"
        )


def protected_by(config: BrokerConfig) -> str | None:
    """Return what protects the broker, listeners or an authorizer; None if everybody who reaches it may do everything."""
    listeners = [each for each in config.listeners if each.security_protocol != "PLAINTEXT"]
    if listeners:
        asked = ", ".join(f"{each.name} ({each.security_protocol})" for each in listeners)
        return f"the listeners {asked} are protected"
    return "authorizer.class.name protects the broker" if config["authorizer.class.name"] else None


def is_loopback(host: str) -> bool:
    """Whether a host is the loopback, by any of its names."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
