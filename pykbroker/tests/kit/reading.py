"""What a fetch gives, and what a consumer of isolation level read_committed takes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pykbroker.wire.control_records import decode_end_txn_marker
from pykbroker.wire.records import decode_records, iter_batches


def committed_values(fetch: Callable[[int], Any], offset: int) -> list[bytes]:
    """Every value from ``offset`` on that is of no aborted transaction, told by the lists of those and by the markers.
    ``fetch`` gives a partition of a FetchResponse.
    """
    values: list[bytes] = []
    while True:
        found = fetch(offset)
        assert found.error_code == 0, found
        data = bytes(found.records or b"")
        if not data:
            return values
        waiting = sorted((each.first_offset, each.producer_id) for each in found.aborted_transactions or ())
        aborting: set[int] = set()
        for position, header in iter_batches(data):
            while waiting and waiting[0][0] <= header.last_offset:
                aborting.add(waiting.pop(0)[1])
            records = decode_records(data[position : position + header.size], header=header)
            if header.is_control:
                if not decode_end_txn_marker(records[0]).commit:
                    aborting.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborting):
                values += [record.value for record in records if record.offset >= offset]
            offset = header.last_offset + 1


def whole(batches: list[bytes], room: int, *, at_least_one: bool) -> bytes:
    """The batches that a partition gives; the first one of an answer is given whatever its size."""
    taken = b""
    for batch in batches:
        if len(taken) + len(batch) > room and (taken or not at_least_one):
            break
        taken += batch
    return taken
