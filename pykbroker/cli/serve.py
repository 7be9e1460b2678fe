"""`pykbroker serve`: start brokers and run them until SIGTERM, SIGINT or SIGHUP.

Kept on argparse, and apart from the other commands: what this module imports, every start pays for.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import resource
import sys
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.listeners import DEFAULT_PROTOCOLS
from pykbroker.config.setting import ConfigError
from pykbroker.process import log_output
from pykbroker.runtime.levels import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.api.steering import Steering
    from pykbroker.process.node import Beside, Node
    from pykbroker.releases.release import Release
    from pykbroker.runtime.waits import Deferred
    from pykbroker.seeding.seed import Seed

DEFAULT_LISTEN = "PLAINTEXT://127.0.0.1:9092"
#: Where data is kept when neither an option nor a setting says so; the variable of the environment comes first.
DEFAULT_DATA_DIR = "pykbroker-data"
DATA_DIR_VARIABLE = "PYKBROKER_DATA_DIR"

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2

#: A fetch of several partitions holds a megabyte of each until the socket has taken it.
_LARGEST_KEPT = 8 * 1024 * 1024


def main(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = parser().parse_args(argv)
    try:
        level, levels = log_levels(options)
    except ConfigError as error:
        print(f"pykbroker: {error}", file=sys.stderr)
        return EXIT_USAGE
    output = log_output.install(level, levels, as_json=options.log_format == "json")
    try:
        return _serve(options)
    finally:
        output.close()


def _serve(options: argparse.Namespace) -> int:
    try:
        config = configuration(options)
        check_racks(options)
        beside = _http_side(options, config)
        seed = _seed(options.seed)
    except (ConfigError, ValueError, OSError, ModuleNotFoundError) as error:
        print(f"pykbroker: {error}", file=sys.stderr)
        return EXIT_USAGE
    with contextlib.ExitStack() as stack:
        if options.ephemeral:
            import tempfile

            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pykbroker-"))
            directory = os.path.join(folder, "data")  # noqa: PTH118 - beside it is what is kept of it
            config = config.with_texts({"log.dirs": directory, "metadata.log.dir": directory})
        return run(config, options, beside, seed)


def _seed(paths: list[Path]) -> Seed | None:
    """What --seed names, all together. Raises BadSeed, OSError, or ModuleNotFoundError for YAML without its package."""
    if not paths:
        return None
    from pykbroker.seeding.reading import read
    from pykbroker.seeding.seed import Seed

    seed = Seed()
    for path in paths:
        seed.add(read(path))
    return seed


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="pykbroker serve",
        description="Run a Kafka-compatible broker. Stops cleanly on SIGTERM, on Ctrl-C and when its terminal is closed.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  pykbroker serve                                  on 127.0.0.1:9092, data in ./pykbroker-data
  pykbroker serve --ephemeral --listen 127.0.0.1:0  a throw-away broker on a free port
  pykbroker serve --config server.properties --set log.retention.hours=1
  pykbroker serve --listen 127.0.0.1:9092 --listen 192.168.1.5:9092   listeners PLAINTEXT and PLAINTEXT2
  pykbroker serve --listen IN://127.0.0.1:9092 --listen OUT://0.0.0.0:9093 \\
                  --set listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT --set inter.broker.listener.name=IN
  pykbroker serve --ephemeral --seed topics.yaml   with topics and records to begin with
  pykbroker serve --brokers 3                      three brokers on 9092, 9093 and 9094
  pykbroker serve --http 8080                      with health, readiness and metrics for this machine""",
    )
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
        help=f"an address to listen on; port 0 picks a free one; repeatable (default {DEFAULT_LISTEN})",
    )
    made.add_argument(
        "--advertise",
        metavar="HOST:PORT",
        action="append",
        default=[],
        help="the address clients are told to use, one per --listen (default: the address listened on)",
    )
    store = made.add_mutually_exclusive_group()
    store.add_argument(
        "--data-dir",
        metavar="DIR",
        help=f"where data is kept (default {DATA_DIR_VARIABLE} of the environment, or else ./{DEFAULT_DATA_DIR})",
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
        help="the release of Kafka that clients shall take it for: 2.8, 3.9 or 4.3 (the default)",
    )
    made.add_argument(
        "--seed",
        metavar="PATH",
        type=Path,
        action="append",
        default=[],
        help="topics and records to begin with, of a .yaml, .json, .jsonl or .csv file or a folder of them; topics that are "
        "there already are left as they are; repeatable",
    )
    made.add_argument(
        "--http",
        metavar="[HOST:]PORT",
        help="health, readiness and metrics by HTTP; port 0 picks a free one (default: off; without a host: 127.0.0.1)",
    )
    made.add_argument(
        "--http-token-file",
        metavar="FILE",
        type=Path,
        help="a file whose first line who asks by HTTP must send, as Authorization: Bearer TOKEN (all but health)",
    )
    made.add_argument(
        "--http-name",
        metavar="HOST",
        action="append",
        default=[],
        help="a host name by which it may be asked, beside addresses and names without a dot; repeatable",
    )
    made.add_argument("--json", action="store_true", help="say that the broker is ready in a line of JSON")
    made.add_argument(
        "--exit-with-parent",
        action="store_true",
        help="stop cleanly when the process that started this one ends, however it does (a test run, say)",
    )
    logged = made.add_mutually_exclusive_group()
    logged.add_argument("--quiet", action="store_true", help="log warnings and errors alone")
    logged.add_argument("--verbose", action="store_true", help="log connections and requests, too")
    made.add_argument(
        "--log-level",
        metavar="[LOGGER=]LEVEL",
        action="append",
        default=[],
        help=f"of everything or of one logger, as in pykbroker.network=DEBUG: {', '.join(LEVELS)}; repeatable",
    )
    made.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="lines for people, or an object of JSON each"
    )
    return made


def log_levels(options: argparse.Namespace) -> tuple[int, dict[str, int]]:
    """The level of the whole log, and those of single loggers. Raises ConfigError."""
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


def check_racks(options: argparse.Namespace) -> None:
    """Raises ConfigError where there is not one rack for each broker."""
    if options.racks is not None and len(options.racks) != options.brokers:
        raise ConfigError(
            f"--racks names {len(options.racks)} rack(s) for {options.brokers} broker(s); name one for each"
        )


def configuration(options: argparse.Namespace) -> BrokerConfig:
    """The broker's settings: the file, then --set, then the options that stand for settings.

    Raises ConfigError naming the setting, PropertiesError, or OSError for a file that cannot be read.
    """
    given: dict[str, str] = {}
    if options.config:
        from pykbroker.config.properties import load

        given = load(options.config)
    for assignment in options.set:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"--set wants NAME=VALUE, as in log.retention.hours=24, not {assignment!r}")
        given[name.strip()] = value.strip()
    if options.listen:
        given["listeners"], protocols = _named(options.listen)
        if protocols and "listener.security.protocol.map" not in given:
            given["listener.security.protocol.map"] = protocols
    given.setdefault("listeners", DEFAULT_LISTEN)
    if options.advertise:
        given["advertised.listeners"] = _advertised(given["listeners"], options.advertise)
    if options.data_dir:
        given["log.dirs"] = options.data_dir
    elif not {"log.dirs", "log.dir"} & given.keys():
        given["log.dirs"] = os.environ.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR
    return BrokerConfig(given) if options.as_version is None else BrokerConfig(given, options.as_version.definitions)


def _advertised(listeners: str, addresses: list[str]) -> str:
    names = [listener.partition("://")[0] for listener in listeners.split(",")]
    if len(addresses) != len(names):
        raise ConfigError(
            f"--advertise was given {len(addresses)} times for {len(names)} listener(s); "
            "give it once for each, in the same order"
        )
    return ",".join(f"{name}://{address}" for name, address in zip(names, addresses, strict=True))


def _named(addresses: list[str]) -> tuple[str, str]:
    """``listeners`` of addresses, of which those without a name get one each: PLAINTEXT, PLAINTEXT2 and so on; and the
    protocols of these, where PLAINTEXT alone is not enough.
    """
    taken = {address.partition("://")[0].upper() for address in addresses if "://" in address}
    free = (name for number in count(1) if (name := f"PLAINTEXT{number if number > 1 else ''}") not in taken)
    given = [address if "://" in address else f"{next(free)}://{address}" for address in addresses]
    named = [listener.partition("://")[0].upper() for listener in given]
    more = [name for name in named if name.removeprefix("PLAINTEXT").isdigit()]
    protocols = {**DEFAULT_PROTOCOLS, **dict.fromkeys(more, "PLAINTEXT")}
    return ",".join(given), ",".join(f"{name}:{protocols[name]}" for name in protocols) if more else ""


def _http_side(options: argparse.Namespace, config: BrokerConfig) -> Callable[[Node], Beside] | None:
    """What makes the HTTP side; None where it is off. Raises ConfigError."""
    if options.http is None:
        if options.http_token_file or options.http_name:
            raise ConfigError("--http-token-file and --http-name say who may ask the HTTP side: open it with --http")
        return None
    from pykbroker.http import options as http

    found = http.parse(options.http, options.http_token_file, options.http_name)
    http.check(found, config.listeners)
    from pykbroker.http.installed import side

    made = side()
    return lambda node: made(node, found, lambda: _steering(node, options))


def _steering(node: Node, options: argparse.Namespace) -> Steering:
    from pykbroker.http.api.steering import of_node

    folder = Path(node.cluster.logs.metadata_directory.path).parent if options.ephemeral else None
    return of_node(node, folder)


def run(
    config: BrokerConfig,
    options: argparse.Namespace,
    beside: Callable[[Node], Beside] | None = None,
    seed: Seed | None = None,
) -> int:
    """Serve until a signal comes; returns the exit status."""
    _keep_freed_memory()
    _allow_descriptors()
    try:
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    except ImportError:
        runner = asyncio.Runner()
    from pykbroker.process.log_directories import StartFailed
    from pykbroker.process.node import serve

    with runner:
        try:
            runner.run(
                serve(
                    config,
                    options.brokers,
                    _say_ready_in_json if options.json else _say_ready,
                    racks=options.racks,
                    durable=not options.ephemeral,
                    with_parent=options.exit_with_parent,
                    release=options.as_version,
                    beside=beside,
                    before_clients=None if seed is None else partial(_sow, seed),
                )
            )
        except StartFailed as error:
            logging.root.handlers[0].flush()
            print(f"pykbroker: {error}", file=sys.stderr)
            return EXIT_FAILED
    return EXIT_OK


def _sow(seed: Seed, cluster: Cluster) -> Deferred[None]:
    from pykbroker.process.log_directories import StartFailed
    from pykbroker.seeding.seed import BadSeed
    from pykbroker.seeding.sowing import Sown, sow

    def told(sown: Sown) -> None:
        logging.getLogger(__name__).info("Seeded with %s", sown)

    def refused(error: BadSeed) -> None:
        raise StartFailed(str(error)) from error

    return sow(cluster, seed, only_new=True).map(told).recover(BadSeed, refused)


def _say_ready(node: Node) -> None:
    _tell_systemd(node)
    where = ", ".join(f"broker {node_id} on {address}" for node_id, address in node.addresses().items())
    http = "" if node.http is None else f"; HTTP at {node.http}"
    _say(f"pykbroker ready: {where}{http}")


def _say_ready_in_json(node: Node) -> None:
    import json

    _tell_systemd(node)
    _say(json.dumps(node.summary()))


def _tell_systemd(node: Node) -> None:
    if "NOTIFY_SOCKET" in os.environ:
        from pykbroker.process.notify import notify

        notify(READY="1", STATUS=f"Serving on {', '.join(node.addresses().values())}")


def _say(line: str) -> None:
    try:
        # One write: print gives the end of the line apart where Python does not buffer, and the log may go to the same file.
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    except OSError as error:  # nobody listens; clients may be there all the same
        logging.getLogger(__name__).warning("Standard output is closed (%s); nobody is told there: %s", error, line)
        sys.stdout = None


def _keep_freed_memory() -> None:
    """Let the allocator keep what large reads free, instead of having the kernel map and clear it anew each time.

    glibc serves blocks from 128 KiB by mmap until one is freed; from then on, blocks up to that one's size come from
    the heap, which keeps up to twice as much free. Page faults were three quarters of the cost of a large read. The
    pages of this block are never touched, so it costs nothing; other allocators take no notice.
    """
    bytes(_LARGEST_KEPT)


def _allow_descriptors() -> None:
    """Raise the limit on open files as far as the system lets us, as a JVM does: each client takes one, each file too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # macOS names an infinite limit that it then refuses
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return
    logging.getLogger(__name__).warning("The limit on open files stays at %d", soft)
