"""``kafka-dump-log``: prints segments, indexes and snapshots from the disk."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from pykbroker.cli.dump_log import batches, mapped
from pykbroker.cli.dump_tables import (
    base_offset_of,
    offset_index,
    producer_snapshot,
    time_index,
    transaction_index,
)
from pykbroker.cli.dump_verify import faults
from pykbroker.client.errors import ClientError
from pykbroker.container.tools.dumped_records import batch_line, record_line
from pykbroker.container.tools.printing import print_error, print_lines
from pykbroker.container.tools.record_decoders import DECODERS, Decoder, plain
from pykbroker.container.tools.running import Options, ToolError
from pykbroker.wire.errors import WireError

_SNAPSHOT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_NO_LIMIT: Final = sys.maxsize


def main(words: list[str]) -> None:
    made = Options("kafka-dump-log", "Print segments, their indexes and snapshots.")
    made.add_argument("--files", metavar="FILE,...", help="which")
    made.flags("deep-iteration", "print-data-log", "skip-record-metadata", "verify-index-only", "index-sanity-check")
    made.add_argument("--max-bytes", metavar="N", type=int, default=_NO_LIMIT, help="of each log")
    made.add_argument("--max-message-size", metavar="N", type=int, help="has no effect: batches of any size are read")
    made.flags(*DECODERS)
    for name in ("key-decoder-class", "value-decoder-class"):
        made.add_argument(f"--{name}", metavar="CLASS", help="text is what there is: StringDecoder")
    made.add_argument("--remote-log-metadata-decoder", action="store_true", help=argparse.SUPPRESS)
    options = made.parse_args(words)
    if not options.files:
        raise ToolError("Missing required argument --files.")
    decoder = _decoder(options)
    deep = options.deep_iteration or decoder is not None
    for path in (Path(name) for name in options.files.split(",")):
        print_lines(f"Dumping {path}")
        if path.name.endswith((".log", ".checkpoint")):
            _dump_log(path, options.max_bytes, decoder, deep=deep, terse=options.skip_record_metadata)
        elif path.suffix in (".index", ".timeindex") and (options.verify_index_only or options.index_sanity_check):
            _verify(path, said=options.index_sanity_check)
        elif path.suffix in _PRINTERS:
            for line in _PRINTERS[path.suffix](path):
                print_lines(line)
        else:
            print_error(f"Ignoring unknown file {path}")


def _decoder(options: argparse.Namespace) -> Decoder | None:
    """How contents are printed; None where nobody asks for them. Raises ToolError."""
    if options.remote_log_metadata_decoder:
        raise ToolError("--remote-log-metadata-decoder: this broker has no tiered storage, and so no such records.")
    classes = [each for each in (options.key_decoder_class, options.value_decoder_class) if each]
    for name in classes:
        if name.rpartition(".")[2] != "StringDecoder":
            raise ToolError(
                f"{name} is a class of Java, which this image has not: contents are printed as text, and "
                "`pykbroker dump -r --json` has bytes that are none in base64."
            )
    asked = [name for name in DECODERS if getattr(options, name.replace("-", "_"))]
    if asked:
        return DECODERS[asked[0]]
    return plain if options.print_data_log or classes else None


def _dump_log(path: Path, limit: int, decoder: Decoder | None, *, deep: bool, terse: bool) -> None:
    print_lines(_title(path))
    gaps: list[tuple[int, int]] = []
    with mapped(path) as content:
        end = 0
        try:
            last = -1
            for batch in batches(content):
                if batch.position + batch.header.size > limit:
                    return
                print_lines(batch_line(batch))
                end = batch.position + batch.header.size
                for record in batch.records() if deep else []:
                    if last >= 0 and record.offset != last + 1:
                        gaps.append((last, record.offset))
                    last = record.offset
                    print_lines(record_line(batch, record, decoder=decoder, terse=terse))
        except WireError as error:
            print_error(f"{path}: {error}")
        if end < len(content) and limit == _NO_LIMIT:
            print_lines(f"Found {len(content) - end} invalid bytes at the end of {path.name}")
    if gaps:
        print_error(f"Non-consecutive offsets in {path.absolute()}")
    for before, after in gaps:
        print_error(f"  {before} is followed by {after}")


def _title(path: Path) -> str:
    snapshot = _SNAPSHOT.fullmatch(path.name)
    if snapshot is not None:
        return f"Snapshot end offset: {int(snapshot[1])}, epoch: {int(snapshot[2])}"
    if path.name == "bootstrap.checkpoint":
        return "KRaft bootstrap snapshot"
    return f"Log starting offset: {base_offset_of(path)}"


def _verify(path: Path, *, said: bool) -> None:
    """Print only the faults of an index."""
    wrong = [fault for fault in faults(path.with_suffix(".log")) if fault.startswith(f"{path.name}:")]
    for fault in wrong:
        print_error(fault)
    if said and not wrong:
        print_lines(f"{path} passed sanity check.")


def _offsets(path: Path) -> Iterator[str]:
    entries = offset_index(path)
    if not entries:
        yield f"{path} is empty."
    for entry in entries:
        yield f"offset: {entry['offset']} position: {entry['position']}"


def _times(path: Path) -> Iterator[str]:
    for entry in time_index(path):
        yield f"timestamp: {entry['timestamp']} offset: {entry['offset']}"


def _transactions(path: Path) -> Iterator[str]:
    for entry in transaction_index(path):
        yield (
            f"version: {entry['version']} producerId: {entry['producer_id']} firstOffset: {entry['first_offset']} "
            f"lastOffset: {entry['last_offset']} lastStableOffset: {entry['last_stable_offset']}"
        )


def _producers(path: Path) -> Iterator[str]:
    try:
        entries = producer_snapshot(path)
    except ClientError as error:
        print_error(error.message)
        return
    for entry in entries:
        line = (
            f"producerId: {entry['producer_id']} producerEpoch: {entry['producer_epoch']} "
            f"coordinatorEpoch: {entry['coordinator_epoch']} currentTxnFirstOffset: {_optional(entry['current_txn_first_offset'])} "
            f"lastTimestamp: {entry['timestamp']} "
        )
        if entry["last_sequence"] >= 0:
            first = (entry["last_sequence"] - entry["offset_delta"]) & 0x7FFFFFFF
            line += (
                f"firstSequence: {first} lastSequence: {entry['last_sequence']} lastOffset: {entry['last_offset']} "
                f"offsetDelta: {entry['offset_delta']} timestamp: {entry['timestamp']}"
            )
        yield line


def _optional(offset: int) -> str:
    """Return the text of Java's OptionalLong."""
    return "OptionalLong.empty" if offset < 0 else f"OptionalLong[{offset}]"


_PRINTERS: Final[dict[str, Callable[[Path], Iterator[str]]]] = {
    ".index": _offsets,
    ".timeindex": _times,
    ".txnindex": _transactions,
    ".snapshot": _producers,
}
