"""The first process of a container: reads settings from the environment, formats log directories, runs the broker.

It stays one process, so that signals reach the broker. ``configure`` and ``launch`` are its two steps, for images with
a script for each, and for commands that others run between them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.container import advice, announced, derived, server_properties
from pykbroker.container.options import arguments
from pykbroker.storage.directories.contents import ForeignDirectoryError
from pykbroker.storage.properties import PropertiesError, load

if TYPE_CHECKING:
    from pykbroker.process.node import Node

#: Paths of the settings in Apache Kafka's image and in Confluent's.
APACHE: Final = Path("/opt/kafka/config/server.properties")
CONFLUENT: Final = Path("/etc/kafka/kafka.properties")
#: Cluster id of Apache Kafka's image if none is given.
DEFAULT_CLUSTER_ID: Final = "5L6g3nShT-eMCtK--X86sw"
_DATA_DIR: Final = {APACHE: "/var/lib/pykbroker/data", CONFLUENT: "/var/lib/kafka/data"}
_EXIT_USAGE: Final = 2


def run(words: Sequence[str]) -> int:
    """``NAME=VALUE`` words are variables that win over those of the environment. Returns the exit status."""
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            return _fail(f"{word!r} is not NAME=VALUE: the words behind `run` are variables of the environment")
        os.environ[name] = value
    os.environ["CLUSTER_ID"] = os.environ.get("CLUSTER_ID") or DEFAULT_CLUSTER_ID
    return configure(APACHE) or launch(APACHE)


def configure(path: Path, environment: MutableMapping[str, str] | None = None) -> int:
    """Write the settings of the environment to ``path``. Returns the exit status."""
    given = os.environ if environment is None else environment
    data_dir = given.get("PYKBROKER_DATA_DIR") if path == APACHE else None
    try:
        content = server_properties.text(derived.complete(given), data_dir or _DATA_DIR.get(path, _DATA_DIR[APACHE]))
        server_properties.write(content, path)
    except (derived.BadEnvironment, PropertiesError, OSError) as error:
        return _fail(str(error))
    for sentence in advice.on(given):
        print(f"pykbroker: {sentence}", file=sys.stderr)
    return 0


def launch(path: Path, overrides: Sequence[str] = ()) -> int:
    """Serve with the settings of a file until a signal; ``overrides`` are NAME=VALUE and win. Returns the exit status."""
    try:
        config = BrokerConfig(load(path) | dict(_name_and_value(word) for word in overrides))
        prepare(config, os.environ)
        options = arguments(os.environ, config)
    except OSError as error:
        return _fail(
            f"{error.filename or path} cannot be used: {error.strerror} (KAFKA_LOG_DIRS names the log directories)"
        )
    except (ConfigError, PropertiesError, ForeignDirectoryError, ValueError) as error:
        return _fail(advice.where(str(error), os.environ))
    from pykbroker.cli.serve import main as serve

    return serve(["--config", str(path), *(f"--set={word}" for word in overrides), *options], tell=_tell)


def _name_and_value(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise ConfigError(f"{word!r} is not NAME=VALUE")
    return name.strip(), value.strip()


def prepare(config: BrokerConfig, environment: Mapping[str, str]) -> None:
    """Format new log directories if a cluster id is given; formatted ones stay as they are, as in Apache Kafka's image.

    Raises OSError and ForeignDirectoryError.
    """
    cluster_id = environment.get("CLUSTER_ID")
    if cluster_id:
        from pykbroker.container.formatting import format_new

        format_new(config, cluster_id)


def _tell(node: Node) -> None:
    now = datetime.now().astimezone()
    when = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
    for line in announced.lines(node.addresses(), when):
        print(line)
    sys.stdout.flush()


def _fail(message: str) -> int:
    print(f"pykbroker: {message}", file=sys.stderr)
    return _EXIT_USAGE
