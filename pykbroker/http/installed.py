"""The side, where what it needs is installed."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pykbroker.config.setting import ConfigError

if TYPE_CHECKING:
    from pykbroker.http.side import HttpSide


def side(*, own_process: bool = False) -> type[HttpSide]:
    """The side itself. In a process that is the broker's own, the HTTP library comes without certificates for its clients.

    Raises ConfigError that says what to install where a package is missing.
    """
    if find_spec("prometheus_client") is None:  # imported with the first page of metrics
        raise _missing("prometheus_client")
    try:
        with _without_certificates() if own_process else contextlib.nullcontext():
            from pykbroker.http.side import HttpSide  # noqa: PLC0415 - what has no extra must read the rest of this
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("pykbroker"):
            raise
        raise _missing(error.name) from error
    return HttpSide


def _missing(package: str) -> ConfigError:
    return ConfigError(
        f"--http needs the package {package}: install it with  pip install '.[http]'  from the folder of "
        "pykbroker's sources, or with  pip install aiohttp prometheus-client"
    )


@contextlib.contextmanager
def _without_certificates() -> Iterator[None]:
    """Contexts for TLS that are made meanwhile trust nobody.

    aiohttp makes two for its clients as soon as it is imported, with every authority of the system: a fifth of the start
    with the side, and 5 MB. The one client here has a context of its own (``console/registry.py``), which it makes when it
    needs it. Where aiohttp may be somebody else's, too, it is imported as it comes.
    """

    def load_none(self: ssl.SSLContext) -> None:
        """In the place of what is inherited."""

    ssl.SSLContext.set_default_verify_paths = load_none  # type: ignore[method-assign]
    try:
        yield
    finally:
        del ssl.SSLContext.set_default_verify_paths
