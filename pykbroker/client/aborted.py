"""Filters batches of aborted transactions out of a fetch, as a consumer with read_committed does (KIP-98)."""

from __future__ import annotations

from collections.abc import Iterable

from pykbroker.wire.control_records import ControlRecordType, decode_control_key
from pykbroker.wire.messages.fetch import AbortedTransaction
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import BatchHeader, decode_records

Batches = list[tuple[BatchHeader, Buffer]]


def without_aborted(batches: Batches, aborted: Iterable[AbortedTransaction]) -> Batches:
    """Return the batches without those of aborted transactions; control batches stay.

    A producer's batches are dropped from its transaction's first offset until its abort marker.
    """
    coming = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
    dropping: set[int] = set()
    kept: Batches = []
    for header, batch in batches:
        while coming and coming[-1].first_offset <= header.last_offset:
            dropping.add(coming.pop().producer_id)
        if header.is_control:
            (marker,) = decode_records(batch, header=header)[:1] or (None,)
            if marker and decode_control_key(marker.key) is ControlRecordType.ABORT:
                dropping.discard(header.producer_id)
        elif header.is_transactional and header.producer_id in dropping:
            continue
        kept.append((header, batch))
    return kept
