"""Imports the HTTP side, or says which package is missing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from pykbroker.config.setting import ConfigError
from pykbroker.extras import install_hint

if TYPE_CHECKING:
    from pykbroker.http.side import HttpSide

#: Where OpenSSL finds the system's authorities: here, none.
_CERTIFICATES: Final = {"SSL_CERT_FILE": os.devnull, "SSL_CERT_DIR": os.devnull}


def side(*, own_process: bool = False) -> type[HttpSide]:
    """Import the HTTP side. In a process of the broker's own, without loading CA certificates for aiohttp's client.

    Raises ConfigError that says what to install if a package is missing.
    """
    if find_spec("prometheus_client") is None:  # imported with the first page of metrics
        raise _missing("prometheus_client")
    try:
        with _without_certificates() if own_process else contextlib.nullcontext():
            from pykbroker.http.side import HttpSide
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("pykbroker"):
            raise
        raise _missing(error.name) from error
    return HttpSide


def check_registry() -> None:
    """Raises ConfigError that says what to install if a package of the schema registry is missing. It imports none of them."""
    for package in ("aiohttp", "avro", "jsonschema", "grpc_tools"):
        if find_spec(package) is None:
            raise ConfigError(f"--schema-registry needs the package {package}: {install_hint('registry')}.")


def _missing(package: str) -> ConfigError:
    return ConfigError(f"--http needs the package {package}: {install_hint('http')}.")


@contextlib.contextmanager
def _without_certificates() -> Iterator[None]:
    """Let TLS contexts that are created meanwhile trust no CA, by OpenSSL's variables for the system's certificates.

    On import, aiohttp creates two for its client, with all CAs of the system: a fifth of the start with the HTTP side,
    and 5 MB. The only client here has a context of its own (``console/registry.py``), created when needed. In a process
    that others may use aiohttp in, it is imported unchanged.
    """
    before = {name: os.environ.get(name) for name in _CERTIFICATES}
    os.environ.update(_CERTIFICATES)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
