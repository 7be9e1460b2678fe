"""Options of a container's broker that are not settings: the HTTP side, the log, and advertised addresses."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pykbroker.cli.serve_options import AS_REACHED
from pykbroker.config.broker import BrokerConfig
from pykbroker.container import registry_variables, writable_files
from pykbroker.runtime.levels import LEVELS
from pykbroker.steered.http_options import protected_by

#: Default address of the HTTP side: all addresses of the container.
HTTP: Final = "0.0.0.0:8080"
HTTP_VARIABLE: Final = "PYKBROKER_HTTP"
_NAMES_VARIABLE: Final = "PYKBROKER_HTTP_NAMES"
_TOKEN_VARIABLE: Final = "PYKBROKER_HTTP_TOKEN_FILE"  # noqa: S105 - a path
_CHAOS_VARIABLE: Final = "PYKBROKER_CHAOS"
_LEVEL_VARIABLE: Final = "KAFKA_LOG4J_ROOT_LOGLEVEL"
OFF: Final = "off"
#: The token file that is created if a token is required and none is given.
TOKEN: Final = writable_files.RUN / "http-token"


def arguments(environment: Mapping[str, str], config: BrokerConfig, *, token: Path = TOKEN) -> list[str]:
    """Return options of ``pykbroker serve``. Raises OSError and ConfigError."""
    made = [] if config.is_explicit("advertised.listeners") else ["--advertise", AS_REACHED]
    level = environment.get(_LEVEL_VARIABLE, "").upper()
    if level in LEVELS:
        made += ["--log-level", level]
    if environment.get(_CHAOS_VARIABLE):
        made += ["--chaos", environment[_CHAOS_VARIABLE]]
    return [*made, *_http(environment, config, token)]


def _http(environment: Mapping[str, str], config: BrokerConfig, token: Path) -> list[str]:
    address, registry = environment.get(HTTP_VARIABLE) or HTTP, registry_variables.arguments(environment)
    made = [] if address == OFF else ["--http", address]
    if not made and (not registry or "://" in registry[1]):  # the address of another is for the console
        return []
    for name in filter(None, environment.get(_NAMES_VARIABLE, "").split(",")):
        made += ["--http-name", name.strip()]
    made += registry
    named = environment.get(_TOKEN_VARIABLE)
    if named:
        return [*made, "--http-token-file", named]
    if protected_by(config) is not None:
        made_at = writable_files.write(secrets.token_urlsafe(32) + "\n", token)
        print(f"pykbroker: HTTP requires the token that was made in {made_at}", file=sys.stderr)
        return [*made, "--http-token-file", str(made_at)]
    return made
