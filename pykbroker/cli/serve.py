"""`pykbroker serve`: starts brokers and runs them until SIGTERM, SIGINT or SIGHUP.

Uses argparse and is apart from the other commands, because each import here adds to start-up time.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import resource
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pykbroker.cli.serve_options import (
    EXIT_FAILED,
    EXIT_OK,
    EXIT_USAGE,
    as_reached,
    check_racks,
    check_security,
    configuration,
    http_options,
    log_levels,
    parser,
    registry_options,
)
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.process import garbage, log_output
from pykbroker.runtime.escaping import paragraph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.cli.serve_security import ServedSecurity
    from pykbroker.process.node import Node, Service
    from pykbroker.runtime.waits import Deferred
    from pykbroker.seeding.seed import Seed
    from pykbroker.steered.clock import ManualTime
    from pykbroker.steered.steering import Steering

#: Fetch responses of several partitions hold a megabyte of each in memory until the socket has taken it.
_LARGEST_KEPT = 8 * 1024 * 1024


def main(argv: list[str], tell: Callable[[Node], None] | None = None) -> int:
    """Run the command; returns the exit status. ``tell`` prints more than the line that says that the broker is ready."""
    with garbage.collected_when_ready():
        return _main(argv, tell)


def _main(argv: list[str], tell: Callable[[Node], None] | None) -> int:
    options = parser().parse_args(argv)
    try:
        level, levels = log_levels(options)
    except ConfigError as error:
        print(f"pykbroker: {paragraph(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    output = log_output.install(level, levels, as_json=options.log_format == "json")
    try:
        return _serve(options, tell)
    finally:
        output.close()


def _serve(options: argparse.Namespace, tell: Callable[[Node], None] | None) -> int:
    try:
        config = configuration(options)
        check_racks(options)
        check_security(options)
        seed, time = _seed(options.seed), _manual_time(options)
        services = _services(options, config, seed, time)
    except (ConfigError, ValueError, OSError, ModuleNotFoundError) as error:
        print(f"pykbroker: {paragraph(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    if options.config:
        _warn_if_exposed(options.config, config)
    with contextlib.ExitStack() as stack:
        if time is not None:
            from pykbroker.steered.clock import standing_still

            config = standing_still(config)
        if options.ephemeral:
            import tempfile

            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pykbroker-"))
            directory = os.path.join(folder, "data")  # noqa: PTH118 - snapshots lie beside it
            config = config.with_texts({"log.dirs": directory, "metadata.log.dir": directory})
        try:
            security = _security(options, config)
            if security is not None:
                config = security.configured(config)
        except (ConfigError, OSError) as error:
            print(f"pykbroker: {paragraph(str(error))}", file=sys.stderr)
            return EXIT_USAGE
        return ServerStart(config, options, services, seed, time, security, tell).run()


def _warn_if_exposed(path: Path, config: BrokerConfig) -> None:
    """Log a warning if others can read a file with secrets."""
    from pykbroker.config.layers import setting_of

    settings = (setting_of(name, config.definitions) for name in config.explicit)
    if any(setting.sensitive for setting in settings if setting is not None):
        from pykbroker.security.file_permissions import warn_if_exposed

        warn_if_exposed(path, "secrets")


def _security(options: argparse.Namespace, config: BrokerConfig) -> ServedSecurity | None:
    """Return the security of --security. Raises ConfigError and OSError."""
    if options.security is None:
        return None
    from pykbroker.cli.serve_security import ServedSecurity, folder_of

    return ServedSecurity(options, config, folder_of(options, config))


def _seed(paths: list[Path]) -> Seed | None:
    """Return the seeds of all --seed options together.

    Raises BadSeed, OSError, or ModuleNotFoundError for YAML without PyYAML.
    """
    if not paths:
        return None
    from pykbroker.seeding.reading import read
    from pykbroker.seeding.seed import Seed

    seed = Seed()
    for path in paths:
        seed.add(read(path))
    return seed


def _manual_time(options: argparse.Namespace) -> ManualTime | None:
    """Return the clock of --clock manual; None for the system clock."""
    if options.clock == "real":
        return None
    from pykbroker.steered.clock import ManualTime

    return ManualTime()


def _services(
    options: argparse.Namespace, config: BrokerConfig, seed: Seed | None, time: ManualTime | None
) -> Callable[[Node], Sequence[Service]]:
    """Return what creates the control socket and, if they are on, the HTTP side, the schema registry and chaos. Raises
    ConfigError and BadChaos.
    """
    found, registry = http_options(options, config), registry_options(options, config)
    make = None
    if found is not None or registry is not None:
        from pykbroker.steered.http_side import check_registry, http_side

        make = http_side(own_process=True)
        if registry is not None:
            check_registry()

    def steering(node: Node) -> Steering:
        from pykbroker.steered.steering import of_node

        folder = Path(node.config.metadata_log_dir).parent if options.ephemeral else None
        return of_node(node, folder, None if seed is None else partial(_load_seed, seed), time)

    chaos = None
    if options.chaos is None and options.chaos_tape is not None:
        raise ConfigError("--chaos-tape is where --chaos writes what befalls clients: give --chaos SEED, too")
    if options.chaos is not None:
        from pykbroker.steered.chaos_at_start import chaos_of

        chaos = chaos_of(options.chaos, options.chaos_tape)

    def open_services(node: Node) -> Sequence[Service]:
        from pykbroker.steered.control import Control

        control = Control(Path(node.config.metadata_log_dir), partial(steering, node))
        sides: list[Service] = [control]
        own_registry = None
        if registry is not None:
            from pykbroker.steered.http_side import schema_registry

            own_registry = schema_registry(node, registry, control.request_log)
            sides.append(own_registry)
        if chaos is not None:
            sides.append(chaos(control.steering))
        if make is not None and found is not None:
            sides.append(make(node, found, control.steering, own_registry))
        return sides

    return open_services


class ServerStart(NamedTuple):
    """One start, as its command line describes it."""

    config: BrokerConfig
    options: argparse.Namespace
    services: Callable[[Node], Sequence[Service]]
    seed: Seed | None
    time: ManualTime | None
    security: ServedSecurity | None
    tell: Callable[[Node], None] | None

    def run(self) -> int:
        """Serve until a signal; returns the exit status."""
        _keep_freed_memory()
        _allow_descriptors()
        from pykbroker.process.log_directories import StartFailed

        with _runner() as runner:
            try:
                runner.run(self._serve())
            except StartFailed as error:
                logging.root.handlers[0].flush()
                print(f"pykbroker: {paragraph(str(error))}", file=sys.stderr)
                return EXIT_FAILED
        return EXIT_OK

    async def _serve(self) -> None:
        from pykbroker.process.node import Node, serve

        options = self.options
        node = Node(
            self.config,
            options.brokers,
            racks=options.racks,
            durable=not options.ephemeral,
            as_reached=as_reached(options),
            release=options.as_version,
            clock=None if self.time is None else self.time.clock,
        )
        if self.time is not None:
            node.lifetimes.follow(self.time.follow)
        await serve(
            node,
            self._announce,
            with_parent=options.exit_with_parent,
            services=self.services,
            before_clients=None if self.seed is None else partial(_load_seed, self.seed),
        )

    def _announce(self, node: Node) -> None:
        _tell_systemd(node)
        if self.security is not None:
            self.security.write_files(node)
            node.renew_certificates(self.security.renewed)
        if self.options.json:
            _say_ready_in_json(node, {} if self.security is None else {"security": self.security.summary()})
        else:
            _say_ready(node)
            if self.security is not None:
                # Passwords are for a person's terminal: other output ends in a log.
                _say(f"\n{self.security.to_paste(node) if sys.stdout.isatty() else self.security.where()}\n")
        if self.tell is not None:
            self.tell(node)
        garbage.is_ready()


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _load_seed(seed: Seed, cluster: Cluster) -> Deferred[None]:
    from pykbroker.process.log_directories import StartFailed
    from pykbroker.seeding.loading import LoadedSeed, load_seed
    from pykbroker.seeding.seed import BadSeed

    def announce(loaded: LoadedSeed) -> None:
        logging.getLogger(__name__).info("Seeded with %s", loaded)

    def refused(error: BadSeed) -> None:
        raise StartFailed(str(error)) from error

    return load_seed(cluster, seed, only_new=True).map(announce).recover(BadSeed, refused)


def _say_ready(node: Node) -> None:
    where = ", ".join(f"broker {node_id} on {address}" for node_id, address in node.addresses().items())
    services = node.services
    http = f"; HTTP at {services['http']}" if "http" in services else ""
    registry = ""
    if "schema_registry" in services:
        from pykbroker.steered.http_options import registry_url

        registry = f"; schema registry at {registry_url(services['schema_registry'])}"
    _say(f"pykbroker ready: {where}{http}{registry}")


def _say_ready_in_json(node: Node, more: dict[str, Any]) -> None:
    _say(json.dumps({**node.summary(), **more}))


def _tell_systemd(node: Node) -> None:
    if "NOTIFY_SOCKET" in os.environ:
        from pykbroker.process.notify import notify

        notify(READY="1", STATUS=f"Serving on {', '.join(node.addresses().values())}")


def _say(line: str) -> None:
    try:
        # A single write: print writes the line end separately to unbuffered output, and the log may share the file.
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    except OSError as error:  # closed output does not stop the broker: clients can use it all the same
        logging.getLogger(__name__).warning(
            "Standard output is closed (%s), so this line is not printed: %s", error, line
        )
        sys.stdout = None


def _keep_freed_memory() -> None:
    """Let malloc keep memory that large reads free, instead of having the kernel map and clear it each time.

    glibc serves blocks from 128 KiB by mmap until one is freed; from then on, blocks up to that size come from the
    heap, which keeps up to twice as much free. Page faults were three quarters of the cost of a large read. The pages
    of this block are never touched, so it costs nothing; other allocators ignore it.
    """
    bytes(_LARGEST_KEPT)


def _allow_descriptors() -> None:
    """Raise the soft limit on open files to the hard limit, as a JVM does: each connection and each log file needs one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # macOS reports an infinite hard limit and then refuses it
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return
    logging.getLogger(__name__).warning("The limit on open files stays at %d", soft)
