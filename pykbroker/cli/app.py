"""The command line for people. ``serve`` is listed in the help, but ``pykbroker.__main__`` runs it without this module."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from pykbroker import __version__
from pykbroker.cli import (
    acls,
    brokers,
    cluster,
    configs,
    consume,
    dump,
    faults,
    groups,
    lake,
    logdirs,
    perf,
    produce,
    quotas,
    reassignments,
    records,
    tokens,
    topic_offsets,
    topics,
    transactions,
    users,
)
from pykbroker.cli.completion import WithOptionsOfServe
from pykbroker.cli.help import with_plain_help
from pykbroker.cli.output import Output, flush
from pykbroker.cli.trouble import EXIT_FAILED, EXIT_INTERRUPTED, CliError, OutputClosed, refusal
from pykbroker.wire.errors import KafkaError, WireError

app = typer.Typer(
    name="pykbroker",
    help="A Kafka-compatible broker, and commands that talk to any Kafka.",
    epilog="Exit status: 0 done, 1 refused or a fault found, 2 wrong command line, 3 no broker reached.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


@app.command(
    cls=WithOptionsOfServe,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
def serve(context: typer.Context) -> None:
    """Run the broker; `pykbroker serve --help` lists its options."""
    from pykbroker.cli.serve import main as serve_main

    raise typer.Exit(serve_main(context.args))


@app.command(
    cls=WithOptionsOfServe,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
def check(context: typer.Context) -> None:
    """Check whether a broker would start with these settings, without starting it; takes the options of `serve`."""
    from pykbroker.cli.check import main as check_main

    raise typer.Exit(check_main(context.args))


app.add_typer(topics.app, name="topics")
app.add_typer(groups.app, name="groups")
app.add_typer(cluster.app, name="cluster")
app.add_typer(configs.app, name="configs")
app.add_typer(transactions.app, name="transactions")
app.add_typer(reassignments.app, name="reassignments")
app.add_typer(acls.app, name="acls")
app.add_typer(users.app, name="users")
app.add_typer(tokens.app, name="tokens")
app.add_typer(quotas.app, name="quotas")
app.add_typer(records.app, name="records")
app.add_typer(brokers.app, name="brokers")
app.add_typer(faults.app, name="faults")
app.add_typer(perf.app, name="perf")
app.add_typer(lake.app, name="lake")
app.command("offsets")(topic_offsets.offsets)
app.command("logdirs")(logdirs.logdirs)
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)
app.command("dump")(dump.dump)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"pykbroker {__version__}")
        raise typer.Exit


@app.callback()
def top(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """A Kafka-compatible broker, and commands that talk to any Kafka."""


with_plain_help(app)


def main(argv: list[str]) -> int:
    """Run one command and return its exit status."""
    try:
        app(argv, prog_name="pykbroker")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else EXIT_FAILED
    except CliError as error:
        status = _fail(error)
    except KafkaError as error:
        status = _fail(CliError(refusal("The broker refused", error)))
    except WireError as error:
        status = _fail(CliError(f"{error}."))
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    try:
        flush()
    except OutputClosed as error:
        status = _fail(error)
    return status


def _fail(error: CliError) -> int:
    if isinstance(error, OutputClosed):
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - stays open for the interpreter's last flush
    else:
        Output(as_json=False).error(error.message)
    return error.status
