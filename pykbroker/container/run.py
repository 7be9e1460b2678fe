"""The first process of a container: reads settings from the environment, formats log directories, runs the broker.

It stays one process, so that signals reach the broker. ``configure`` and ``launch`` are its two steps, for images with
a script for each, and for commands that others run between them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Final

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.container import advice, data_directory, derived, health, server_properties, writable_files
from pykbroker.container.announced import tell_ready
from pykbroker.container.options import arguments
from pykbroker.runtime.escaping import paragraph
from pykbroker.storage.directories.contents import ForeignDirectoryError
from pykbroker.storage.properties import PropertiesError, load

#: Paths of the settings in Apache Kafka's image and in Confluent's.
APACHE: Final = Path("/opt/kafka/config/server.properties")
CONFLUENT: Final = Path("/etc/kafka/kafka.properties")
#: Cluster id of Apache Kafka's image if none is given.
DEFAULT_CLUSTER_ID: Final = "5L6g3nShT-eMCtK--X86sw"
#: Other folders of the image in which any user may write, and which volumes therefore keep so.
WRITABLE: Final = ("/var/lib/kafka/data", "/data")
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
    """Write the settings of the environment to ``path`` (``places`` says where, if it cannot be written). Returns the exit
    status.
    """
    given = os.environ if environment is None else environment
    try:
        data_dir = data_directory.default(given, data_directory.mounts())
        writable_files.write(server_properties.text(derived.complete(given), data_dir), path)
    except (derived.BadEnvironment, PropertiesError, OSError) as error:
        return _fail(str(error))
    for sentence in advice.on(given):
        print(f"pykbroker: {paragraph(sentence)}", file=sys.stderr)
    return 0


def launch(path: Path, overrides: Sequence[str] = ()) -> int:
    """Serve with the settings of a file until a signal; ``overrides`` are NAME=VALUE and win. Returns the exit status."""
    writable_files.remove(health.READY)
    path = writable_files.find(path)
    try:
        config = BrokerConfig(load(path) | dict(_name_and_value(word) for word in overrides))
        prepare(config, os.environ)
        options = arguments(os.environ, config)
    except PermissionError as error:
        return _fail(
            f"{error.filename} cannot be used: {error.strerror} for user {os.getuid()}. A volume at a path that the image lacks "
            f"belongs to root: mount it at {data_directory.VOLUME} or {' or '.join(WRITABLE)}, or run the container with --user 0"
        )
    except OSError as error:
        return _fail(
            f"{error.filename or path} cannot be used: {error.strerror} (KAFKA_LOG_DIRS names the log directories)"
        )
    except (ConfigError, PropertiesError, ForeignDirectoryError, ValueError) as error:
        return _fail(advice.where(str(error), os.environ))
    for sentence in data_directory.notices(config.log_dirs, data_directory.mounts()):
        print(f"pykbroker: {paragraph(sentence)}", file=sys.stderr)
    from pykbroker.cli.serve import main as serve

    return serve(["--config", str(path), *(f"--set={word}" for word in overrides), *options], tell=tell_ready)


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


def _fail(message: str) -> int:
    print(f"pykbroker: {paragraph(message)}", file=sys.stderr)
    return _EXIT_USAGE
