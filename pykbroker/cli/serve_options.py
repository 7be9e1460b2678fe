"""The command line of `pykbroker serve`, and the settings that it makes. `pykbroker check` shares it."""

from __future__ import annotations

import argparse
import logging
import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.listeners import DEFAULT_PROTOCOLS, protocol_map
from pykbroker.config.setting import ConfigError
from pykbroker.runtime.levels import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pykbroker.releases.release import Release
    from pykbroker.steered.http_options import HttpOptions

DEFAULT_ADDRESS = "127.0.0.1:9092"
DEFAULT_REGISTRY = "127.0.0.1:8081"
#: Log directory if no option and no setting names one; the environment variable comes first.
DEFAULT_DATA_DIR = "pykbroker-data"
DATA_DIR_VARIABLE = "PYKBROKER_DATA_DIR"
#: Value of --advertise for listeners that clients reach by several addresses.
AS_REACHED = "as-reached"
#: Levels of the schema registry, which is imported only where it is served.
COMPATIBILITIES = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal.

    Without a width, argparse asks shutil for it with the first option, and importing shutil is a fiftieth of every
    start.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isdigit() and int(told):
        return int(told)
    try:
        return os.get_terminal_size().columns or 80
    except OSError:  # no terminal
        return 80


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options of ``serve``."""
    made = argparse.ArgumentParser(
        prog="pykbroker serve",
        description="Run a Kafka-compatible broker. Stops cleanly on SIGTERM, on Ctrl-C and when its terminal is closed.",
        formatter_class=_HelpFormatter,
        epilog="""examples:
  pykbroker serve                                  on 127.0.0.1:9092, data in ./pykbroker-data
  pykbroker serve --ephemeral --listen 127.0.0.1:0  a throw-away broker on a free port
  pykbroker serve --config server.properties --set log.retention.hours=1
  pykbroker serve --listen 127.0.0.1:9092 --listen 192.168.1.5:9092   listeners PLAINTEXT and PLAINTEXT2
  pykbroker serve --listen IN://127.0.0.1:9092 --listen OUT://0.0.0.0:9093 \\
                  --set listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT --set inter.broker.listener.name=IN
  pykbroker serve --ephemeral --seed topics.yaml   with topics and records to begin with
  pykbroker serve --brokers 3                      three brokers on 9092, 9093 and 9094
  pykbroker serve --security sasl_ssl              encrypted, with users, and settings for clients to paste
  pykbroker serve --http 8080                      with health, readiness and metrics for this machine""",
    )
    for add in (_add_listening, _add_security, _add_storage, _add_http, _add_process):
        add(made)
    return made


def _add_listening(made: argparse.ArgumentParser) -> None:
    made.add_argument("--config", metavar="FILE", type=Path, help="a Kafka server.properties file, taken as it is")
    made.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a broker setting; wins over the file; repeatable",
    )
    made.add_argument(
        "--listen",
        metavar="[PROTOCOL://]HOST:PORT",
        action="append",
        default=[],
        help=f"an address to listen on; port 0 picks a free one; repeatable (default {DEFAULT_ADDRESS})",
    )
    made.add_argument(
        "--advertise",
        metavar="HOST:PORT",
        action="append",
        default=[],
        help="the address clients are told to use, one per --listen (default: the address listened on); or once "
        f"{AS_REACHED}: each client is told the one by which it came, where that is one of many",
    )


def _add_security(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--security",
        choices=("ssl", "sasl_plaintext", "sasl_ssl"),
        help="make keys, certificates and users, keep them, and print settings for clients (default: listeners are plain)",
    )
    made.add_argument(
        "--user",
        metavar="NAME",
        action="append",
        default=[],
        help="who may connect by --security, with a random password; repeatable (default alice and bob)",
    )
    made.add_argument(
        "--security-dir", metavar="DIR", help="where --security keeps them (default: beside the log directory)"
    )
    made.add_argument(
        "--new-security",
        action="store_true",
        help="let --security make new keys and passwords for a log directory that had others, which are missing",
    )


def _add_storage(made: argparse.ArgumentParser) -> None:
    store = made.add_mutually_exclusive_group()
    store.add_argument(
        "--data-dir",
        metavar="DIR",
        help=f"log directory (default {DATA_DIR_VARIABLE} of the environment, or else ./{DEFAULT_DATA_DIR})",
    )
    store.add_argument(
        "--ephemeral", action="store_true", help="keep data in a temporary directory, removed at the end"
    )
    made.add_argument(
        "--brokers", metavar="N", type=_count, default=1, help="brokers in this process, each on a port of its own"
    )
    made.add_argument(
        "--racks",
        metavar="NAME,NAME,...",
        type=_racks,
        default=None,
        help="the rack of each broker of --brokers (default: broker.rack for all)",
    )
    made.add_argument(
        "--as-version",
        metavar="RELEASE",
        type=_release,
        default=None,
        help="emulate this release of Kafka: 2.8, 3.9, 4.3 or 4.4 (the default)",
    )
    made.add_argument(
        "--seed",
        metavar="PATH",
        type=Path,
        action="append",
        default=[],
        help="topics and records to start with, from a .yaml, .json, .jsonl or .csv file or a folder of them; topics that are "
        "there already are left as they are; repeatable",
    )


def _add_http(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--http",
        metavar="[HOST:]PORT",
        help="health, readiness and metrics by HTTP; port 0 picks a free one (default: off; without a host: 127.0.0.1)",
    )
    made.add_argument(
        "--http-token-file",
        metavar="FILE",
        type=Path,
        help="a file whose first line HTTP requests must send, as Authorization: Bearer TOKEN (all but health)",
    )
    made.add_argument(
        "--http-name",
        metavar="HOST",
        action="append",
        default=[],
        help="a host name that HTTP requests may use, beside addresses, localhost and the names of the machine and its listeners; repeatable",
    )
    made.add_argument(
        "--schema-registry",
        metavar="[HOST:]PORT|URL",
        nargs="?",
        const=DEFAULT_REGISTRY,
        help=f"serve a schema registry (without a port: {DEFAULT_REGISTRY}; its records are in the topic _schemas); or the URL of another one, "
        "with which the console decodes records",
    )
    made.add_argument(
        "--schema-registry-listener",
        metavar="NAME",
        help="serve the schema registry with the TLS and the users of this listener: clients authenticate there as here",
    )
    made.add_argument(
        "--schema-registry-compatibility",
        metavar="LEVEL",
        type=str.upper,
        choices=COMPATIBILITIES,
        help=f"what the schema registry compares new schemas by where nothing has been set: {', '.join(COMPATIBILITIES)} "
        "(default: BACKWARD)",
    )


def _add_process(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--clock",
        choices=("real", "manual"),
        default="real",
        help="manual: the brokers' time stands still until advanced by HTTP, for tests (default: real)",
    )
    made.add_argument(
        "--chaos",
        metavar="SEED",
        help="let befall clients what Apache Kafka may do to them, by a seed, as in 7 or '7 profile=network intensity=2 quiet_after=30s': "
        "slow and lost answers, throttling, leaders that move, brokers that restart; for tests",
    )
    made.add_argument(
        "--chaos-tape",
        metavar="FILE",
        help="with --chaos, write to this file what befalls clients, a line each; --chaos @FILE does the same again",
    )
    made.add_argument("--json", action="store_true", help="print a line of JSON when the broker is ready")
    made.add_argument(
        "--exit-with-parent",
        action="store_true",
        help="stop cleanly when the process that started this one ends, in any way (for test runs)",
    )
    logged = made.add_mutually_exclusive_group()
    logged.add_argument("--quiet", action="store_true", help="log only warnings and errors")
    logged.add_argument("--verbose", action="store_true", help="log connections and requests, too")
    made.add_argument(
        "--log-level",
        metavar="[LOGGER=]LEVEL",
        action="append",
        default=[],
        help=f"of everything or of one logger, as in pykbroker.network=DEBUG: {', '.join(LEVELS)}; repeatable",
    )
    made.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="text, or one JSON object per line"
    )


def log_levels(options: argparse.Namespace) -> tuple[int, dict[str, int]]:
    """Return the level of the root logger, and those of single loggers. Raises ConfigError."""
    level = logging.WARNING if options.quiet else logging.DEBUG if options.verbose else logging.INFO
    levels: dict[str, int] = {}
    for text in options.log_level:
        name, equals, wanted = text.rpartition("=")
        number = {**LEVELS, "WARNING": logging.WARNING, "CRITICAL": logging.CRITICAL}.get(wanted.upper())
        if number is None or (equals and not name):
            raise ConfigError(
                f"--log-level wants a level or LOGGER=LEVEL with one of {', '.join(LEVELS)}, not {text!r}"
            )
        if equals:
            levels[name] = number
        else:
            level = number
    return level, levels


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not a number of brokers from 1 to 100")
    return int(text)


def _release(text: str) -> Release:
    from pykbroker.releases.release import release

    try:
        return release(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _racks(text: str) -> list[str]:
    racks = [name.strip() for name in text.split(",")]
    if not all(racks):
        raise argparse.ArgumentTypeError(f"{text} names an empty rack")
    return racks


def check_security(options: argparse.Namespace) -> None:
    """Raises ConfigError for options that need --security if it is not given."""
    if options.security is None and (options.user or options.security_dir or options.new_security):
        raise ConfigError(
            "--user, --security-dir and --new-security are about what --security makes: say which, as --security sasl_ssl"
        )


def check_racks(options: argparse.Namespace) -> None:
    """Raises ConfigError unless there is one rack for each broker."""
    if options.racks is not None and len(options.racks) != options.brokers:
        raise ConfigError(
            f"--racks names {len(options.racks)} rack(s) for {options.brokers} broker(s); name one for each"
        )


def configuration(options: argparse.Namespace) -> BrokerConfig:
    """Return the broker's settings: the file, then --set, then options that stand for settings.

    Raises ConfigError naming the setting, PropertiesError, or OSError for a file that cannot be read.
    """
    given: dict[str, str] = {}
    if options.config:
        from pykbroker.storage.properties import load

        given = load(options.config)
    for assignment in options.set:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set wants NAME=VALUE, as in log.retention.hours=24, not {assignment!r}")
        given[name.strip()] = value.strip()
    protocol = "PLAINTEXT" if options.security is None else options.security.upper()
    if options.listen:
        if options.security is None:
            _check_listeners_stay_secured(options.listen, given)
        given["listeners"], protocols = _named(options.listen, protocol)
        if protocols and "listener.security.protocol.map" not in given:
            given["listener.security.protocol.map"] = protocols
    given.setdefault("listeners", f"{protocol}://{DEFAULT_ADDRESS}")
    if as_reached(options):
        given.pop("advertised.listeners", None)
    elif options.advertise:
        given["advertised.listeners"] = _advertised(given["listeners"], options.advertise)
    if options.data_dir:
        given["log.dirs"] = options.data_dir
    elif not {"log.dirs", "log.dir"} & given.keys():
        given["log.dirs"] = os.environ.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR
    return BrokerConfig(given) if options.as_version is None else BrokerConfig(given, options.as_version.definitions)


def as_reached(options: argparse.Namespace) -> bool:
    """Whether clients are told the address that they connected to. Raises ConfigError."""
    if AS_REACHED in options.advertise and len(options.advertise) > 1:
        raise ConfigError(f"--advertise {AS_REACHED} holds for all listeners: give it once, and no address beside it")
    return AS_REACHED in options.advertise


def _check_listeners_stay_secured(addresses: list[str], given: Mapping[str, str]) -> None:
    """Raises ConfigError if an address without a protocol, which is PLAINTEXT, would replace secured listeners."""
    text = given.get("listener.security.protocol.map")
    protocols = DEFAULT_PROTOCOLS if text is None else protocol_map(text)
    names = [entry.partition("://")[0].strip().upper() for entry in given.get("listeners", "").split(",")]
    secured = [name for name in names if protocols.get(name, "PLAINTEXT") != "PLAINTEXT"]
    plain = [address for address in addresses if "://" not in address]
    if secured and plain:
        raise ConfigError(
            f"--listen {plain[0]} names no protocol, and would take the place of the secured listeners of the settings "
            f"({', '.join(secured)}) without security: write --listen {secured[0]}://{plain[0]}, or PLAINTEXT://{plain[0]} "
            "where that is meant"
        )


def _advertised(listeners: str, addresses: list[str]) -> str:
    names = [listener.partition("://")[0] for listener in listeners.split(",")]
    if len(addresses) != len(names):
        raise ConfigError(
            f"--advertise was given {len(addresses)} times for {len(names)} listener(s); "
            "give it once for each, in the same order"
        )
    return ",".join(f"{name}://{address}" for name, address in zip(names, addresses, strict=True))


def _named(addresses: list[str], protocol: str) -> tuple[str, str]:
    """Return ``listeners`` and listener.security.protocol.map for addresses.

    Listeners without a name are called PLAINTEXT, PLAINTEXT2 and so on for this protocol; the map has those whose name
    is not that of a protocol.
    """
    taken = {address.partition("://")[0].upper() for address in addresses if "://" in address}
    free = (name for number in count(1) if (name := f"{protocol}{number if number > 1 else ''}") not in taken)
    given = [address if "://" in address else f"{next(free)}://{address}" for address in addresses]
    named = [listener.partition("://")[0].upper() for listener in given]
    more = [name for name in named if name.removeprefix(protocol).isdigit()]
    protocols = {**DEFAULT_PROTOCOLS, **dict.fromkeys(more, protocol)}
    return ",".join(given), ",".join(f"{name}:{protocols[name]}" for name in protocols) if more else ""


def http_options(options: argparse.Namespace, config: BrokerConfig) -> HttpOptions | None:
    """Return the address and access of the HTTP side; None if it is off. Raises ConfigError."""
    own = registry_options(options, config)
    if options.http is None:
        if options.clock == "manual":
            raise ConfigError("--clock manual needs --http, whose API moves the clock")
        if own is None and (options.http_token_file or options.http_name):
            raise ConfigError("--http-token-file and --http-name say who may ask the HTTP side: open it with --http")
        if own is None and options.schema_registry:
            raise ConfigError("--schema-registry URL is for the console: open the HTTP side with --http")
        return None
    from pykbroker.steered import http_options as http

    other = options.schema_registry if own is None else None
    found = http.parse(options.http, options.http_token_file, options.http_name, other)
    http.check(found, config)
    return found


def registry_options(options: argparse.Namespace, config: BrokerConfig) -> HttpOptions | None:
    """Return the address and access of the schema registry; None if it is off. Raises ConfigError."""
    if options.schema_registry is None or "://" in options.schema_registry:  # none, or one that runs elsewhere
        for option in ("listener", "compatibility"):
            if getattr(options, f"schema_registry_{option}") is not None:
                raise ConfigError(
                    f"--schema-registry-{option} is for a registry of the broker's own: open it with --schema-registry [HOST:]PORT"
                )
        return None
    from pykbroker.steered import http_options as http

    found = http.parse_registry(
        options.schema_registry,
        options.http_token_file,
        options.http_name,
        options.schema_registry_listener,
        options.schema_registry_compatibility,
    )
    http.check(found, config, "--schema-registry")
    return found
