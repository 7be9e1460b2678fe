from __future__ import annotations

import pytest

from pykbroker.seeding.partitioner import Partitioner, murmur2


@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
        (b"", 275646681),
    ],
)
def test_hashes_are_those_of_javas_clients(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed % 2**32


def test_a_key_has_one_partition() -> None:
    partitioner = Partitioner(7)
    chosen = partitioner.choose(b"foobar")
    partitioner.next_batch()
    assert partitioner.choose(b"foobar") == chosen == (-790332482 & 0x7FFFFFFF) % 7


def test_records_without_keys_take_turns_by_batch() -> None:
    partitioner = Partitioner(2)
    chosen = []
    for _ in range(4):
        chosen.append((partitioner.choose(None), partitioner.choose(None)))
        partitioner.next_batch()
    assert chosen == [(0, 0), (1, 1), (0, 0), (1, 1)]
