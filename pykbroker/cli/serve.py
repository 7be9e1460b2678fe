"""`pykbroker serve`: start brokers and run them until SIGTERM or SIGINT.

Kept on argparse, and apart from the other commands: what this module imports, every start pays for.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import sys
import tempfile
from pathlib import Path

from pykbroker.config.broker import BrokerConfig, ConfigError
from pykbroker.config.listeners import parse_listener

DEFAULT_LISTEN = "PLAINTEXT://127.0.0.1:9092"
DEFAULT_DATA_DIR = "pykbroker-data"

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2


def main(argv: list[str]) -> int:
    """Run the command; returns the exit status."""
    options = parser().parse_args(argv)
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if options.verbose else logging.INFO,
        format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
    )
    try:
        config = configuration(options)
    except (ConfigError, OSError, ValueError) as error:
        print(f"pykbroker: {error}", file=sys.stderr)
        return EXIT_USAGE
    with contextlib.ExitStack() as stack:
        if options.ephemeral:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pykbroker-")))
        else:
            directory = Path(config["log.dirs"][0])
        return run(config, directory, options.brokers)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="pykbroker serve",
        description="Run a Kafka-compatible broker. Stops cleanly on SIGTERM and on Ctrl-C.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  pykbroker serve                                  on 127.0.0.1:9092, data in ./pykbroker-data
  pykbroker serve --ephemeral --listen 127.0.0.1:0  a throw-away broker on a free port
  pykbroker serve --config server.properties --set log.retention.hours=1
  pykbroker serve --brokers 3                      three brokers on 9092, 9093 and 9094""",
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
    store.add_argument("--data-dir", metavar="DIR", help=f"where data is kept (default ./{DEFAULT_DATA_DIR})")
    store.add_argument("--ephemeral", action="store_true", help="keep data in a temporary folder, removed at the end")
    made.add_argument(
        "--brokers", metavar="N", type=_count, default=1, help="brokers in this process, each on a port of its own"
    )
    made.add_argument("--verbose", action="store_true", help="log more")
    return made


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not a number of brokers from 1 to 100")
    return int(text)


def configuration(options: argparse.Namespace) -> BrokerConfig:
    """The broker's settings: the file, then --set, then the options that stand for settings.

    Raises ConfigError naming the setting, or OSError for a file that cannot be read.
    """
    overrides: dict[str, str] = {}
    for pair in options.set:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set wants NAME=VALUE, and {pair!r} has no '='")
        overrides[name.strip()] = value
    if options.listen:
        overrides["listeners"] = ",".join(_with_protocol(text) for text in options.listen)
    if options.advertise:
        if len(options.advertise) != max(1, len(options.listen)):
            raise ConfigError(
                f"--advertise was given {len(options.advertise)} times for {max(1, len(options.listen))} listener(s); "
                "give it once for each --listen, in the same order"
            )
        listen = options.listen or [DEFAULT_LISTEN]
        overrides["advertised.listeners"] = ",".join(
            f"{parse_listener(_with_protocol(bound)).name}://{address}"
            for bound, address in zip(listen, options.advertise, strict=True)
        )
    if options.data_dir:
        overrides["log.dirs"] = options.data_dir
    given: dict[str, str] = {}
    if options.config is not None:
        from pykbroker.config.properties import load

        given = load(options.config)
    given.update(overrides)
    given.setdefault("listeners", DEFAULT_LISTEN)
    if "log.dirs" not in given and "log.dir" not in given:
        given["log.dirs"] = DEFAULT_DATA_DIR
    return BrokerConfig(given)


def _with_protocol(text: str) -> str:
    return text if "://" in text else f"PLAINTEXT://{text}"


def run(config: BrokerConfig, directory: Path, brokers: int) -> int:
    """Serve until a signal comes; returns the exit status."""
    try:
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    except ImportError:
        runner = asyncio.Runner()
    from pykbroker.node import StartFailed, serve

    with runner:
        try:
            runner.run(serve(config, directory, brokers, announce=lambda text: print(text, flush=True)))
        except StartFailed as error:
            print(f"pykbroker: {error}", file=sys.stderr)
            return EXIT_FAILED
    return EXIT_OK
