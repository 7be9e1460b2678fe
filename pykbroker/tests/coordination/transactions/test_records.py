"""Records of __transaction_state: both versions of the layout, and what cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.coordination.transactions.records import decode, encode, record, tombstone
from pykbroker.coordination.transactions.transaction import Transaction, TransactionState
from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.framing import UnknownRecordType

_IDS = st.integers(-1, 2**63 - 1)
_EPOCHS = st.integers(-1, 2**15 - 1)
_TIMES = st.integers(-1, 2**62)

transactions = st.builds(
    Transaction,
    transactional_id=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    producer_id=_IDS,
    producer_epoch=_EPOCHS,
    previous_producer_id=_IDS,
    next_producer_id=_IDS,
    timeout_ms=st.integers(0, 2**31 - 1),
    state=st.sampled_from([state for state in TransactionState if state is not TransactionState.EMPTY]),
    partitions=st.frozensets(st.tuples(st.sampled_from(["a", "b", "long-name"]), st.integers(0, 5)), max_size=8),
    start_ms=_TIMES,
    updated_ms=_TIMES,
    client_version=st.integers(0, 2),
)


@given(transactions)
def test_what_is_written_is_read(transaction):
    key, value = encode(record(transaction, server_version=2))
    assert value[:2] == b"\0\x01"
    assert decode(key, value) == record(transaction, server_version=2)


@given(transactions)
def test_the_older_layout_leaves_out_what_it_has_no_room_for(transaction):
    key, value = encode(record(transaction, server_version=0))
    assert value[:2] == b"\0\0"
    read = decode(key, value).value
    assert (read.previous_producer_id, read.next_producer_id, read.client_version) == (-1, -1, 0)
    assert (read.state, read.partitions, read.producer_id) == (
        transaction.state,
        transaction.partitions,
        transaction.producer_id,
    )


def test_a_tombstone_and_an_unknown_type():
    assert decode(*encode(tombstone("tx"))) == tombstone("tx")
    with pytest.raises(UnknownRecordType):
        decode(b"\x00\x09whatever", b"")


def test_a_status_that_nobody_knows():
    key, value = encode(record(Transaction(transactional_id="tx", producer_id=1, producer_epoch=0, timeout_ms=5), 0))
    broken = value[:16] + b"\x63" + value[17:]
    with pytest.raises(WireError, match="99"):
        decode(key, broken)
