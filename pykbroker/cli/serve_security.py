"""``serve --security``: secured listeners without further settings, and the client settings for them."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykbroker.cli.security_mark import folder_in, mark
from pykbroker.config.setting import ConfigError
from pykbroker.extras import install_hint
from pykbroker.runtime.clock import SystemClock
from pykbroker.storage.properties import text_of

try:
    from pykbroker.cli.kept_security import KEPT, KeptSecurity, write_private
    from pykbroker.security.ready_made import RENEWED_AFTER_MS, ReadyMade
except ImportError as missing:
    raise ConfigError(f"--security needs the package {missing.name}: {install_hint('security')}") from missing

if TYPE_CHECKING:
    import argparse

    from pykbroker.config.broker import BrokerConfig
    from pykbroker.process.node import Node

_EVERY_ADDRESS = (None, "0.0.0.0", "::")  # noqa: S104 - compared, not bound


class ServedSecurity:
    """Keys and users of one start: kept in a folder, or of this process only."""

    def __init__(
        self,
        options: argparse.Namespace,
        config: BrokerConfig,
        folder: Path | None,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        """Raises ConfigError, and OSError for a folder that cannot be written. Without a ``folder`` nothing is written. ``now_ms`` is
        the time since the epoch, by default the system's.
        """
        protocol: str = options.security
        hosts = list(_hosts(config))
        now_ms = self._now_ms = now_ms or SystemClock().now_ms
        self._renew_at_ms = now_ms() + RENEWED_AFTER_MS
        self._listeners = [each.name for each in config.listeners if each.security_protocol == protocol.upper()]
        if not self._listeners:
            raise ConfigError(
                f"--security {protocol} makes listeners of {protocol.upper()} ready, and there is none: name one by --listen, "
                "or leave the protocols of --listen out"
            )
        if folder is not None and not options.new_security:
            _check_there(folder, config.metadata_log_dir)
        self._kept = None if folder is None else KeptSecurity(folder, protocol, options.user, hosts, now_ms)
        self._made = ReadyMade(protocol, {"alice": "a"}, now_ms) if self._kept is None else self._kept.made

    def configured(self, config: BrokerConfig) -> BrokerConfig:
        """Return the settings, with those that the listeners need; explicit settings win. Raises ConfigError."""
        made = self._made.broker_settings(self._listeners)
        self._renewable = [
            name for name in self._listeners if made.keys() - config.explicit.keys() >= _names_of_key(name)
        ]
        if {"security.inter.broker.protocol", "inter.broker.listener.name"} & config.explicit.keys():
            del made["inter.broker.listener.name"]
        return config.with_texts({name: text for name, text in made.items() if name not in config.explicit})

    def renewed(self) -> dict[str, str]:
        """Return settings with new certificates for the brokers if those in use are near their end, else none."""
        if not self._made.has_tls or self._now_ms() < self._renew_at_ms:
            return {}
        self._renew_at_ms = self._now_ms() + RENEWED_AFTER_MS
        store = self._made.key_store()
        return {f"{_prefix(name)}{setting}": value for name in self._renewable for setting, value in store.items()}

    # Client settings

    def write_files(self, node: Node) -> None:
        """Write a file for --command-config for each user, and settings to paste for the first. Raises OSError."""
        assert self._kept is not None
        mark(str(node.directory), str(self._kept.folder))
        write_private(self._pasted, self.to_paste(node) + "\n")
        for user, path in self._files().items():
            write_private(path, text_of({"bootstrap.servers": self._bootstrap(node), **self._made.java(user)}))

    def summary(self) -> dict[str, Any]:
        """Return paths and users for --json output."""
        assert self._kept is not None
        files = {user: str(path) for user, path in self._files().items()}
        return {"protocol": self._made.protocol, "folder": str(self._kept.folder), "users": files}

    def where(self) -> str:
        """Return where the settings for clients are, without a secret."""
        assert self._kept is not None
        return (
            f"Keys and passwords are in {self._kept.folder}, for its owner alone. A client connects by the settings in "
            f"{self._pasted}; files for --command-config: {', '.join(map(str, self._files().values()))}"
        )

    def to_paste(self, node: Node) -> str:
        """Return the settings of the first user as text, for every kind of client."""
        assert self._kept is not None
        files = self._files()
        user = next(iter(files))
        where = self._bootstrap(node)
        java = {"bootstrap.servers": where, **self._made.java()}
        spark = {"kafka.bootstrap.servers": where, **self._made.spark()}
        parts = [
            f"Keys and passwords are in {self._kept.folder}, for its owner alone. A client connects as {user} by:",
            f"# Java, Kafka's tools (--command-config), pykbroker's commands\n{text_of(java).rstrip()}",
            f"# librdkafka, confluent-kafka\n{_json({'bootstrap.servers': where, **self._made.librdkafka()})}",
            f"# kafka-python\nsettings = dict(\n{_arguments({'bootstrap_servers': where, **self._made.python()})})",
            "# Spark\n" + "\n".join(f".option({_text(name)}, {_text(value)})" for name, value in spark.items()),
            f"# A file for --command-config of each user: {', '.join(map(str, files.values()))}",
        ]
        return "\n\n".join(parts)

    def _files(self) -> dict[str, Path]:
        assert self._kept is not None
        return {user: self._kept.clients / f"{user}.properties" for user in self._made.users}

    @property
    def _pasted(self) -> Path:
        assert self._kept is not None
        return self._kept.clients / f"{next(iter(self._made.users))}.txt"

    def _bootstrap(self, node: Node) -> str:
        return ",".join(broker["listeners"][self._listeners[0]] for broker in node.summary()["brokers"])


def folder_of(options: argparse.Namespace, config: BrokerConfig) -> Path:
    """Return the folder: the one named, or one beside the log directory."""
    if options.security_dir is not None:
        return Path(options.security_dir)
    data = Path(config.log_dirs[0]).absolute()
    return data.with_name(f"{data.name}-security")


def _check_there(folder: Path, log_directory: str) -> None:
    """Raises ConfigError if a log directory has had keys and passwords that the folder lacks, for instance after a restore."""
    missing = [name for name in KEPT if not (folder / name).exists()]
    if missing and (kept := folder_in(log_directory)) is not None:
        raise ConfigError(
            f"{log_directory} was served with the keys and passwords in {kept}, but {folder.absolute()} has no "
            f"{' and no '.join(missing)}: with new ones, clients that have connected before could not. Restore that folder, too, "
            "name it by --security-dir DIR, or have new ones made by --new-security"
        )


def _prefix(listener: str) -> str:
    return f"listener.name.{listener.lower()}."


def _names_of_key(listener: str) -> set[str]:
    return {f"{_prefix(listener)}ssl.keystore.{name}" for name in ("type", "key", "certificate.chain")}


def _hosts(config: BrokerConfig) -> Iterator[str]:
    """Return the host names for the brokers' certificate."""
    for listener in (*config.listeners, *config.advertised_listeners):
        if listener.host in _EVERY_ADDRESS:
            yield from _of_this_machine()
        elif listener.host is not None:
            yield listener.host


def _of_this_machine() -> Iterable[str]:
    name = socket.gethostname()
    found = [name]
    with suppress(OSError):
        found += [str(each[4][0]).partition("%")[0] for each in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    return found


def _json(settings: Mapping[str, str]) -> str:
    return json.dumps(settings, indent=4)


def _arguments(settings: Mapping[str, Any]) -> str:
    return "".join(f"    {name}={_text(value)},\n" for name, value in settings.items())


def _text(value: str) -> str:
    return json.dumps(value)
