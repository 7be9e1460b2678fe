"""``pykbroker faults``: fault injection in the brokers of a process on this machine, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pykbroker.cli.brokers import DataDir, exchange
from pykbroker.cli.options import Json
from pykbroker.cli.output import Output
from pykbroker.cli.serve_options import DEFAULT_DATA_DIR
from pykbroker.client.errors import ClientError
from pykbroker.steered.control import SOCKET

app = typer.Typer(help="Inject faults into the brokers of a process on this machine, for tests.", no_args_is_help=True)

_DATA_DIR = Path(DEFAULT_DATA_DIR)


@app.command()
def add(
    words: Annotated[
        list[str],
        typer.Argument(metavar="API WORD...", help="As in: Produce topic=t error=NOT_LEADER_OR_FOLLOWER times=1"),
    ],
    *,
    data_dir: DataDir = _DATA_DIR,
    as_json: Json = False,
) -> None:
    """Inject a fault: an API, or `*` for all; which requests; what is done to them; how often.

    Which: version, topic, partition, group, client, principal, listener, broker. What: error=NAME, delay=500ms, drop, close,
    hold, truncate=BYTES, corrupt, duplicate, throttle=1s, stale, leader=N; with `after`, once the request was carried out.
    How often: times, nth, probability, seed.
    """
    from pykbroker.faults.fault import BadFault, Fault

    try:
        fault = Fault.from_words(words)
    except BadFault as error:
        raise ClientError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    _ask(data_dir, {"command": "addFault", **fault.as_json()}, as_json=as_json)


@app.command("list")
def list_faults(*, data_dir: DataDir = _DATA_DIR, as_json: Json = False) -> None:
    """List the faults, with how many requests each matched and affected."""
    _ask(data_dir, as_json=as_json)


@app.command()
def remove(
    number: Annotated[int, typer.Argument(metavar="N", help="The fault's number.")],
    *,
    data_dir: DataDir = _DATA_DIR,
    as_json: Json = False,
) -> None:
    """Remove one fault; requests that it held continue."""
    _ask(data_dir, {"command": "removeFault", "number": number}, as_json=as_json)


@app.command()
def clear(*, data_dir: DataDir = _DATA_DIR, as_json: Json = False) -> None:
    """Remove all faults."""
    _ask(data_dir, {"command": "clearFaults"}, as_json=as_json)


def _ask(data_dir: Path, change: dict[str, Any] | None = None, *, as_json: bool) -> None:
    """Send a change, if there is one, and print the resulting faults. Raises ClientError."""
    for request in (*(() if change is None else (change,)), {"command": "listFaults"}):
        answer = exchange(data_dir / SOCKET, request)
        if "error" in answer:
            raise ClientError(f"{answer['error'][:1].upper()}{answer['error'][1:]}.")
    out = Output(as_json=as_json)
    if as_json:
        out.json([{name: each[name] for name in ("number", "fault", "matched", "fired")} for each in answer["faults"]])
    else:
        out.table({"number": "N", "text": "FAULT", "matched": "MATCHED", "fired": "FIRED"}, answer["faults"])
