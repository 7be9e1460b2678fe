"""The result of compaction's first pass: which records of the dirty part are the newest of their keys.

Records are numbered in log order, whatever their offsets. So the second pass knows the fate of a dirty record without its
key, and does not decompress a batch that stays or goes as a whole.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from pykbroker.storage.compaction.cleaned_batches import ScannedBatch
from pykbroker.storage.compaction.dense_keys import DenseKeys

#: Bytes of a dictionary entry's two objects besides the bytes of the key: headers, the number, rounding.
_OBJECT_BYTES = 72

#: Fates: the newest record of its key, one that has a newer one or no key at all, and a newest one without a value.
STAYS, GOES, TOMBSTONE = 0, 1, 2


class NewestRecords:
    """Filled batch by batch, in at most ``memory_bytes`` plus one batch, or what is added at once of a large one. ``records`` is
    the largest possible number of them.

    Keys are in a dictionary while there is room, then in a denser map.
    """

    def __init__(self, memory_bytes: int, records: int) -> None:
        self._memory_bytes = memory_bytes
        self._plain: dict[bytes, int] | None = {}
        self._plain_bytes = 0
        self._dense = DenseKeys(records)
        #: The fate of each record so far, one byte each.
        self.fates = bytearray()

    @property
    def full(self) -> bool:
        """Whether the memory is used."""
        used = len(self.fates) + self._plain_bytes + sys.getsizeof(self._plain) + self._dense.memory_bytes
        return used >= self._memory_bytes

    def pass_over(self, count: int) -> None:
        """Skip records without effect on any key: markers, and those of aborted transactions."""
        self.fates += bytes(count)

    def add(self, batch: ScannedBatch) -> None:
        """Add the next batch."""
        self.add_keys(batch.keys, batch.tombstones)

    def add_keys(self, keys: list[bytes | None], tombstones: list[int]) -> None:
        """Add the next records by their keys; ``tombstones`` are the numbers, within these, of those without a value."""
        first = len(self.fates)
        self.fates += bytes(len(keys))
        if self._plain is None:
            self._add_dense(first, keys)
        else:
            self._add_plain(self._plain, first, keys)
        for number in tombstones:
            if self.fates[first + number] == STAYS:
                self.fates[first + number] = TOMBSTONE
        if self._plain is not None and self.full:
            self._condense(self._plain)

    def _add_plain(self, newest: dict[bytes, int], number: int, keys: list[bytes | None]) -> None:
        fates, get = self.fates, newest.get
        for key in keys:
            if key is None:
                fates[number] = GOES
            else:
                old = get(key)
                if old is None:
                    self._plain_bytes += len(key) + _OBJECT_BYTES
                else:
                    fates[old] = GOES
                newest[key] = number
            number += 1

    def _add_dense(self, number: int, keys: list[bytes | None]) -> None:
        fates, swap = self.fates, self._dense.swap
        for key in keys:
            old = number if key is None else swap(key, number)
            if old is not None:
                fates[old] = GOES
            number += 1

    def _condense(self, newest: dict[bytes, int]) -> None:
        """Move the keys into the denser map, freeing each."""
        swap = self._dense.swap
        while newest:
            swap(*newest.popitem())
        self._plain, self._plain_bytes = None, 0

    @property
    def has(self) -> Callable[[bytes], bool]:
        """A function that tells whether a key is in the dirty part."""
        return (self._dense if self._plain is None else self._plain).__contains__
