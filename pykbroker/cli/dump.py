"""``pykbroker dump``: print the files of a log directory from the disk, without a broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from pykbroker.cli.dump_log import (
    BatchAt,
    batch_as_json,
    batch_as_text,
    batches,
    mapped,
    record_as_dump,
    record_as_text,
)
from pykbroker.cli.dump_tables import TABLES
from pykbroker.cli.dump_verify import faults
from pykbroker.cli.output import Output, counted
from pykbroker.client.errors import ClientError, UsageError
from pykbroker.wire.errors import WireError

_LOGS = (".log", ".checkpoint")  # a snapshot of the metadata log has the format of a segment


def dump(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", exists=True, help="Files, or folders of them.")],
    *,
    records: Annotated[bool, typer.Option("--records", "-r", help="Also the records of each batch.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", "-v", help="Only check segments and indexes; exit status 1 for any fault.")
    ] = False,
    from_offset: Annotated[
        int, typer.Option("--from", metavar="OFFSET", min=0, help="Skip records before this offset.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Print log segments, indexes, snapshots, checkpoints and properties files.

    Records of __consumer_offsets, __cluster_metadata and Kafka's other internal topics are shown decoded.
    """
    out = Output(as_json=as_json)
    files = sorted(_files(paths))
    if not files:
        raise UsageError("No file of a Kafka log directory was found; name such files, or a folder that has some.")
    if verify:
        _verify(out, files)
        return
    for path in files:
        if not as_json and len(files) > 1:
            out.styled(str(path), "bold")
        if path.name.endswith(_LOGS):
            _dump_log(out, path, records=records, from_offset=from_offset)
        else:
            _dump_table(out, path)
        if not as_json and len(files) > 1:
            out.line("")


def _files(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (found for found in path.rglob("*") if found.is_file() and _is_known(found))
        elif _is_known(path):
            yield path
        else:
            known = ", ".join([*_LOGS, *TABLES])
            raise UsageError(f"{path}: the kind of a file is known by its name, which must end with one of {known}.")


def _is_known(path: Path) -> bool:
    return path.name.endswith((*_LOGS, *TABLES))


def _dump_log(out: Output, path: Path, *, records: bool, from_offset: int) -> None:
    with mapped(path) as data:
        try:
            for batch in batches(data):
                if batch.header.last_offset >= from_offset:
                    _dump_batch(out, path, batch, records=records, from_offset=from_offset)
        except WireError as error:
            raise ClientError(f"{path}: {error}.") from error


def _dump_batch(out: Output, path: Path, batch: BatchAt, *, records: bool, from_offset: int) -> None:
    wanted = [r for r in batch.records() if r.offset >= from_offset] if records and batch.crc_ok() else []
    control = batch.header.is_control
    if out.as_json:
        printed: dict[str, Any] = {"file": str(path), "batch": batch_as_json(batch)}
        if records:
            printed["records"] = [record_as_dump(path, record, control=control) for record in wanted]
        out.json_line(printed)
        return
    out.styled(batch_as_text(batch), "cyan" if records else "")
    for record in wanted:
        out.line(record_as_text(path, record, control=control))


def _dump_table(out: Output, path: Path) -> None:
    read = next(reader for ending, reader in TABLES.items() if path.name.endswith(ending))
    rows = read(path)
    if out.as_json:
        for row in rows:
            out.json_line({"file": str(path), **row})
    elif rows:
        out.table({name: name.upper().replace("_", " ") for name in rows[0]}, rows)
    else:
        out.line("(empty)")


def _verify(out: Output, files: list[Path]) -> None:
    """Check segments against their indexes, and that every other file can be read."""
    logs = [path for path in files if path.name.endswith(".log")]
    covered = {log.with_suffix(suffix) for log in logs for suffix in (".index", ".timeindex")}
    found = []
    for path in files:
        if path in covered:
            continue
        try:
            if path.name.endswith(".log"):
                found += [f"{path.parent / fault}" for fault in faults(path)]
            elif path.name.endswith(_LOGS):
                with mapped(path) as data:
                    found += [f"{path}: wrong CRC at position {b.position}" for b in batches(data) if not b.crc_ok()]
            else:
                next(reader for ending, reader in TABLES.items() if path.name.endswith(ending))(path)
        except WireError as error:
            found.append(f"{path}: {error}")
        except ClientError as error:
            found.append(error.message)
    if out.as_json:
        out.json({"files": len(files), "faults": found})
    else:
        for fault in found:
            out.styled(fault, "red")
        out.line(f"{counted(len(files), 'file')}, {counted(len(found), 'fault')}")
    if found:
        raise ClientError(f"{counted(len(found), 'fault')} found.")
