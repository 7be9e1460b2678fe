"""``pykbroker brokers``: list, stop and start the brokers of a process on this machine, over its control socket."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path
from typing import Annotated, Any

import typer

from pykbroker.cli.options import Json
from pykbroker.cli.output import Output
from pykbroker.cli.serve_options import DATA_DIR_VARIABLE, DEFAULT_DATA_DIR
from pykbroker.client.errors import ClientError, Unreachable
from pykbroker.steered.control import SOCKET, reachable

app = typer.Typer(
    help="List, stop and start the brokers of one process (`serve --brokers N`) on this machine.", no_args_is_help=True
)

#: A stopping broker waits a few seconds at most for responses in flight.
_ANSWER_LIMIT_S = 30.0

DataDir = Annotated[
    Path,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        envvar=DATA_DIR_VARIABLE,
        help="The log directory of the process. With --ephemeral, see its log.",
    ),
]
Number = Annotated[int, typer.Argument(metavar="N", help="The broker's id.")]

_DATA_DIR = Path(DEFAULT_DATA_DIR)


@app.command("list")
def list_brokers(*, data_dir: DataDir = _DATA_DIR, as_json: Json = False) -> None:
    """List the brokers of the process, with their addresses and the number of partitions that each leads."""
    _ask(data_dir, {"command": "listBrokers"}, as_json=as_json)


@app.command()
def stop(
    broker: Number,
    *,
    data_dir: DataDir = _DATA_DIR,
    abrupt: Annotated[bool, typer.Option("--abrupt", help="Close its connections at once, as a crash does.")] = False,
    as_json: Json = False,
) -> None:
    """Stop one broker; the others keep running and take over its partitions."""
    _ask(data_dir, {"command": "killBroker" if abrupt else "stopBroker", "id": broker}, as_json=as_json)


@app.command()
def start(broker: Number, *, data_dir: DataDir = _DATA_DIR, as_json: Json = False) -> None:
    """Start a stopped broker again, on its port."""
    _ask(data_dir, {"command": "startBroker", "id": broker}, as_json=as_json)


def _ask(data_dir: Path, request: dict[str, Any], *, as_json: bool) -> None:
    """Send a request and print the resulting state of the brokers. Raises ClientError."""
    answer = exchange(data_dir / SOCKET, request)
    if "error" in answer:
        raise ClientError(f"{answer['error'][:1].upper()}{answer['error'][1:]}.")
    out = Output(as_json=as_json)
    if as_json:
        out.json(answer["brokers"])
    else:
        out.table({"id": "BROKER", "state": "STATE", "address": "ADDRESS", "leads": "LEADS"}, answer["brokers"])


def exchange(path: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Send one request to the control socket of a process and return the response. Raises Unreachable."""
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        connection.settimeout(_ANSWER_LIMIT_S)
        try:
            with reachable(path) as address:
                connection.connect(address)
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as lines:
                line = lines.readline()
        except OSError as error:
            reason = error.strerror or error
            raise Unreachable(
                f"No broker of yours answers at {path} ({reason}); --data-dir names its log directory."
            ) from error
    if not line:
        raise Unreachable(f"The process behind {path} ended before it answered.")
    answer: dict[str, Any] = json.loads(line)
    return answer
