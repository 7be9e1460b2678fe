"""The commands for a person at a terminal. ``serve`` stands in the help, and runs elsewhere: ``pykbroker.__main__``."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from pykbroker import __version__
from pykbroker.cli import consume, dump, groups, produce, topics
from pykbroker.cli.output import Output
from pykbroker.cli.trouble import EXIT_FAILED, CliError, refusal
from wire.errors import KafkaError, WireError

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

app = typer.Typer(
    name="pykbroker",
    help="A Kafka-compatible broker, and commands that talk to any Kafka.",
    epilog="Exit status: 0 done, 1 refused or something is wrong, 2 wrong command line, 3 no broker reached.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
def serve(context: typer.Context) -> None:
    """Run the broker. [dim]pykbroker serve --help tells its options.[/]"""
    from pykbroker.cli.serve import main as serve_main

    raise typer.Exit(serve_main(context.args))


app.add_typer(topics.app, name="topics")
app.add_typer(groups.app, name="groups")
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)
app.command("dump")(dump.dump)


@app.callback()
def top(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Print the version and end.")] = False,
) -> None:
    """A Kafka-compatible broker, and commands that talk to any Kafka."""
    if version:
        print(f"pykbroker {__version__}")
        raise typer.Exit


def main(argv: list[str]) -> int:
    """Run one command; returns the exit status."""
    try:
        app(argv, prog_name="pykbroker")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else EXIT_FAILED
    except CliError as error:
        Output(as_json=False).error(error.message)
        status = error.status
    except KafkaError as error:
        Output(as_json=False).error(refusal("The broker refused", error))
        status = EXIT_FAILED
    except WireError as error:
        Output(as_json=False).error(f"{error}.")
        status = EXIT_FAILED
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except BrokenPipeError:  # whoever read our output has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - for the interpreter's last flush
        status = EXIT_BROKEN_PIPE
    return status
