"""The command line for people. ``serve`` is listed in the help, but ``pykbroker.__main__`` runs it without this module."""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from pykbroker import __version__
from pykbroker.cli.completion import WithOptionsOfServe
from pykbroker.cli.help import with_plain_help
from pykbroker.cli.output import Output, OutputClosed, flush
from pykbroker.client.errors import EXIT_FAILED, EXIT_INTERRUPTED, ClientError, refusal
from pykbroker.wire.errors import KafkaError, WireError

#: Groups of commands, each in the module of the same name, with "_" for "-".
_GROUPS = (
    "topics",
    "groups",
    "cluster",
    "configs",
    "transactions",
    "reassignments",
    "acls",
    "users",
    "tokens",
    "quotas",
    "client-metrics",
    "records",
    "brokers",
    "faults",
    "perf",
    "schemas",
    "lake",
)
#: Single commands, each a function of the same name, with their modules.
_SINGLE = {
    "offsets": "topic_offsets",
    "logdirs": "logdirs",
    "produce": "produce",
    "consume": "consume",
    "dump": "dump",
    "chaos": "chaos",
    "verify": "verify",
}
_LEFT_TO_ARGPARSE: Final = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def _serve(context: typer.Context) -> None:
    """Run the broker; `pykbroker serve --help` lists its options."""
    from pykbroker.cli.serve import main as serve_main

    raise typer.Exit(serve_main(context.args))


def _check(context: typer.Context) -> None:
    """Check whether a broker would start with these settings, without starting it; takes the options of `serve`."""
    from pykbroker.cli.check import main as check_main

    raise typer.Exit(check_main(context.args))


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"pykbroker {__version__}")
        raise typer.Exit


def _top(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """A Kafka-compatible broker, and commands that talk to any Kafka."""


def application(only: str | None = None) -> typer.Typer:
    """Return the command line, with only the named group or command if one is given.

    Importing and building all the others would be most of a command's start-up time.
    """
    app = typer.Typer(
        name="pykbroker",
        help="A Kafka-compatible broker, and commands that talk to any Kafka.",
        epilog="Exit status: 0 done, 1 refused or a fault found, 2 wrong command line, 3 no broker reached.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback()(_top)
    if only is None:
        for name, command in (("serve", _serve), ("check", _check)):
            app.command(name, cls=WithOptionsOfServe, context_settings=_LEFT_TO_ARGPARSE, add_help_option=False)(
                command
            )
    for name, module in _SINGLE.items():
        if only in (None, name):
            app.command(name)(getattr(import_module(f"pykbroker.cli.{module}"), name))
    for name in _GROUPS:
        if only in (None, name):
            app.add_typer(import_module(f"pykbroker.cli.{name.replace('-', '_')}").app, name=name)
    with_plain_help(app)
    return app


@cache
def _command(only: str | None) -> Any:
    return typer.main.get_command(application(only))


def main(argv: list[str]) -> int:
    """Run one command and return its exit status."""
    first = argv[0] if argv else None
    command = _command(first if first in _GROUPS or first in _SINGLE else None)
    try:
        command(argv, prog_name="pykbroker")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else EXIT_FAILED
    except ClientError as error:
        status = _fail(error)
    except KafkaError as error:
        status = _fail(ClientError(refusal("The broker refused", error)))
    except WireError as error:
        status = _fail(ClientError(f"{error}."))
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    try:
        flush()
    except OutputClosed as error:
        status = _fail(error)
    return status


def _fail(error: ClientError) -> int:
    if isinstance(error, OutputClosed):
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - stays open for the interpreter's last flush
    else:
        Output(as_json=False).error(error.message)
    return error.status
