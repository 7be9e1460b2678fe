"""The first pass of compaction: fates of records, in a dictionary and, when that is too large, in the denser map."""

from __future__ import annotations

import gc
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.storage.compaction.cleaned_batches import scan_batch
from pykbroker.storage.compaction.dense_keys import DenseKeys
from pykbroker.storage.compaction.newest_records import GOES, STAYS, TOMBSTONE, NewestRecords
from pykbroker.tests.storage.support import batch
from pykbroker.wire.batch_header import read_batch_header

#: Few different bytes and lengths, so that a key's bytes are found across the entries of others, too.
KEYS = st.text("\0\1a", max_size=6).map(str.encode)
PLENTY, LITTLE = 10**9, 0


def scanned(entries: list[tuple[bytes | None, bytes | None]]):
    data = batch([value for _, value in entries], keys=[key for key, _ in entries])
    return scan_batch(read_batch_header(data), data)


@given(st.lists(KEYS, max_size=300))
def test_dense_keys_are_a_dictionary(keys):
    model: dict[bytes, int] = {}
    dense = DenseKeys(len(keys))
    for number, key in enumerate(keys):
        assert (key in dense) == (key in model)
        assert dense.swap(key, number) == model.get(key)
        model[key] = number
    assert all(key in dense for key in model)
    assert [dense.swap(key, 0) for key in model] == list(model.values())


def test_dense_keys_split_their_buckets():
    dense = DenseKeys(2**17)
    for number in range(5000):
        assert dense.swap(b"key%04d" % number, number * 20) is None
    assert [dense.swap(b"key%04d" % number, 0) for number in range(5000)] == [number * 20 for number in range(5000)]


def test_dense_keys_take_no_more_memory_than_they_tell():
    gc.collect()
    tracemalloc.start()
    dense = DenseKeys(2**17)
    for number in range(8_000):
        dense.swap(b"key-%08d" % number, number)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < dense.memory_bytes < taken * 1.4
    assert dense.memory_bytes < 8_000 * 26


@pytest.mark.parametrize("memory_bytes", [PLENTY, LITTLE])
def test_fates(memory_bytes):
    newest = NewestRecords(memory_bytes, 100)
    newest.add(scanned([(b"a", b"1"), (b"b", b"2"), (None, b"3"), (b"a", b"4"), (b"c", None)]))
    newest.pass_over(2)
    newest.add(scanned([(b"b", None), (b"c", b"5"), (b"d", None), (b"d", None), (None, None)]))
    newest.add(scanned([(b"e", b"6")]))
    first, second = [GOES, GOES, GOES, STAYS, GOES], [TOMBSTONE, STAYS, GOES, TOMBSTONE, GOES]
    assert list(newest.fates) == [*first, STAYS, STAYS, *second, STAYS]
    assert [key for key in (b"a", b"b", b"c", b"d", b"e", b"f", b"") if newest.has(key)] == [
        b"a",
        b"b",
        b"c",
        b"d",
        b"e",
    ]


@given(
    st.lists(
        st.lists(st.tuples(st.none() | KEYS, st.sampled_from([None, b"", b"value"])), min_size=1, max_size=20),
        max_size=20,
    ),
    st.integers(0, 5000),
)
def test_the_last_record_of_each_key_stays(batches, memory_bytes):
    newest = NewestRecords(memory_bytes, 1000)
    for entries in batches:
        newest.add(scanned(entries))
    entries = [entry for each in batches for entry in each]
    last = {key: number for number, (key, _) in enumerate(entries) if key is not None}
    expected = [
        GOES if last.get(key) != number else TOMBSTONE if value is None else STAYS
        for number, (key, value) in enumerate(entries)
    ]
    assert list(newest.fates) == expected
    assert all(newest.has(key) for key in last)


def test_memory_is_full_when_neither_map_has_room():
    newest = NewestRecords(20_000, 10**6)
    number = 0
    while not newest.full:
        newest.add(scanned([(b"key-%06d" % number, b"")]))
        number += 1
    # Of a dictionary's entries, 20,000 bytes would hold 120 or so.
    assert 600 < number < 1000


def test_each_record_counts_even_where_keys_are_few():
    newest = NewestRecords(20_000, 10**6)
    for _ in range(20):
        assert not newest.full
        newest.add(scanned([(b"same", b"")] * 1000))
    assert newest.full
