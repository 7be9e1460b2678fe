"""The side, where what it needs is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.config.setting import ConfigError

if TYPE_CHECKING:
    from pykbroker.http.side import HttpSide


def side() -> type[HttpSide]:
    """The side itself. Raises ConfigError that says what to install where a package is missing."""
    try:
        from pykbroker.http.side import HttpSide  # noqa: PLC0415 - what has no extra must read the rest of this
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("pykbroker"):
            raise
        raise ConfigError(
            f"--http needs the package {error.name}: install it with  pip install '.[http]'  from the folder of "
            "pykbroker's sources, or with  pip install aiohttp prometheus-client"
        ) from error
    return HttpSide
