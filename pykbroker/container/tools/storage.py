"""``kafka-storage``: creates cluster ids, formats log directories, and shows their state."""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.container.formatting import RELEASE_VERSION, directories, format_new, formatted
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError
from pykbroker.container.tools.scram_users import scram_user
from pykbroker.metadata.ids import random_id
from pykbroker.storage import checkpoints
from pykbroker.storage.directories.contents import ForeignDirectoryError
from pykbroker.storage.properties import PropertiesError, load
from pykbroker.storage.real_disk import RealDisk
from pykbroker.wire.primitives import uuid_to_str


def main(words: list[str]) -> None:
    made = Options("kafka-storage", "Make ids of clusters, format log directories, say what is in them.")
    made.add_argument("command", choices=("random-uuid", "format", "info"))
    made.add_argument("--config", "-c", metavar="FILE", help="server.properties")
    made.add_argument("--cluster-id", "-t", metavar="ID")
    made.add_argument(
        "--ignore-formatted", "-g", action="store_true", help="leave out what belongs to a cluster already"
    )
    made.add_argument(
        "--add-scram", "-S", metavar="MECHANISM=[name=NAME,password=PASSWORD]", action="append", default=[]
    )
    made.add_argument(
        "--release-version", "-r", metavar="VERSION", help=f"none but {RELEASE_VERSION.partition('-')[0]}"
    )
    made.add_argument("--standalone", "-s", action="store_true", help="how it is anyway: one controller")
    made.add_argument("--no-initial-controllers", "-N", action="store_true", help="has no effect")
    options = made.parse_args(words)
    if options.command == "random-uuid":
        print_lines(uuid_to_str(random_id(random.SystemRandom())))
    elif options.command == "format":
        _format(options)
    else:
        _info(_config(options))


def _config(options: argparse.Namespace) -> BrokerConfig:
    if not options.config:
        raise ToolError("--config FILE is missing: it names the log directories.")
    try:
        return BrokerConfig(load(Path(options.config)))
    except (OSError, PropertiesError, ConfigError) as error:
        raise ToolError(f"{options.config}: {error}") from error


def _format(options: argparse.Namespace) -> None:
    config = _config(options)
    if options.cluster_id is None:
        raise ToolError("--cluster-id ID is missing; `kafka-storage random-uuid` makes one.")
    if options.release_version and not RELEASE_VERSION.startswith(options.release_version):
        raise ToolError(f"--release-version {options.release_version}: new clusters begin at {RELEASE_VERSION}.")
    there = [directory for directory in directories(config) if formatted(directory)]
    if there and not options.ignore_formatted:
        raise ToolError(
            f"Log directory {there[0]} is already formatted. Use --ignore-formatted to ignore this directory and format the others."
        )
    users = [scram_user(text) for text in options.add_scram]
    try:
        made = format_new(config, options.cluster_id, users)
    except ForeignDirectoryError as error:
        raise ToolError(str(error)) from error
    for directory in made:
        kind = "metadata" if directory == config.metadata_log_dir else "data"
        print_lines(f"Formatting {kind} directory {directory} with metadata.version {RELEASE_VERSION}.")
    if not made:
        print_lines("All of the log directories are already formatted.")


def _info(config: BrokerConfig) -> None:
    print_lines("Found log directories:")
    for directory in directories(config):
        print_lines(f"  {directory}")
        for name, value in sorted(checkpoints.read_meta_properties(RealDisk(), directory).items()):
            print_lines(f"    {name}={value}")
