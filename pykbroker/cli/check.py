"""`pykbroker check`: checks whether a broker would start with these settings, without starting one.

It reads no data and opens no port. It shares the options of `serve` and, like it, imports argparse only.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

from pykbroker.cli.serve_options import (
    EXIT_OK,
    EXIT_USAGE,
    check_racks,
    check_security,
    configuration,
    http_options,
    log_levels,
    parser,
)
from pykbroker.config import unserved
from pykbroker.config.setting import ConfigError
from pykbroker.runtime.escaping import escaped, paragraph

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig


def main(argv: list[str]) -> int:
    """Run the command; returns the exit status: 0 if a broker would start, else 2."""
    options = _parser().parse_args(argv)
    try:
        config = checked(options)
    except (ConfigError, ValueError, OSError) as error:
        print(f"pykbroker: {paragraph(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    for warning in unserved.warnings(config):
        print(f"warning: {paragraph(warning)}")
    listeners = ", ".join(f"{each.name}://{each.host or ''}:{each.port}" for each in config.listeners)
    print(escaped(f"{len(config.explicit)} settings are good: {listeners}, data in {', '.join(config.log_dirs)}"))
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    made = parser()
    made.prog = "pykbroker check"
    made.description = "Check whether `pykbroker serve` would accept these settings, without starting it."
    made.epilog = "examples:\n  pykbroker check --config server.properties\n  pykbroker check --set num.partitions=3"
    return made


def checked(options: argparse.Namespace) -> BrokerConfig:
    """Return the settings if `serve` would accept them. Raises ConfigError, and what ``configuration`` raises."""
    log_levels(options)
    config = configuration(options)
    check_racks(options)
    check_security(options)
    if options.security is not None:
        from pykbroker.cli.serve_security import ServedSecurity

        config = ServedSecurity(options, config, None).configured(config)
    unserved.check(config)
    if any(listener.security_protocol != "PLAINTEXT" for listener in config.listeners):
        from pykbroker.process.secured import SecuredListeners

        SecuredListeners(config, _no_connections, [config.node_id])
    http_options(options, config)
    return config


def _no_connections() -> NoReturn:
    raise AssertionError("a connection, with no broker running")
