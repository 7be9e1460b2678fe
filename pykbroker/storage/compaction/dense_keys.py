"""A map from keys to numbers that needs little more memory than the bytes of the keys.

A dictionary needs about 110 bytes besides each key, this map about twelve. Keys are compared in full. It is two to three
times slower, so it is used only if a dictionary does not fit.

Keys of one length share a table of buckets, chosen by hash; a bucket is one ``bytes`` of entries, each a key and its number.
"""

from __future__ import annotations

#: A table gets one more bucket when they hold more entries than this on average.
_ENTRIES_PER_BUCKET = 12
#: Bytes of a bucket besides its entries: list slot, object, rounding and fragmentation of the allocator (measured).
_BUCKET_BYTES = 104


class DenseKeys:
    """Keys with a number each, from 0 up to ``largest``."""

    def __init__(self, largest: int) -> None:
        self._width = max(1, (largest.bit_length() + 7) // 8)
        self._tables: dict[int, _Table] = {}
        #: The approximate memory in bytes.
        self.memory_bytes = 0

    def __contains__(self, key: bytes) -> bool:
        table = self._tables.get(len(key))
        return table is not None and table.find(key)[1] >= 0

    def swap(self, key: bytes, number: int) -> int | None:
        """Set the number of a key; returns the previous one, or None."""
        table = self._tables.get(len(key))
        if table is None:
            table = self._tables[len(key)] = _Table(len(key), self._width)
            self.memory_bytes += table.memory_bytes
        before = table.memory_bytes
        old = table.swap(key, number)
        if old is None:
            self.memory_bytes += table.memory_bytes - before
        return old


class _Table:
    """The keys of one length. Buckets are split one by one, in order (linear hashing): so the mixture of bucket sizes stays
    the same, and later appends reuse the memory that a split frees.
    """

    def __init__(self, key_bytes: int, width: int) -> None:
        self._key_bytes = key_bytes
        self._width = width
        self._stride = key_bytes + width
        self._buckets = [b""]
        #: A power of two minus one, the mask of the hash; it grows by one bit once that many buckets exist.
        self._mask = 0
        self._count = 0

    @property
    def memory_bytes(self) -> int:
        return self._count * self._stride + len(self._buckets) * _BUCKET_BYTES

    def find(self, key: bytes) -> tuple[int, int]:
        """The bucket, and the position of the key in it, or -1."""
        which = hash(key) & self._mask
        if which >= len(self._buckets):
            which &= self._mask >> 1
        bucket = self._buckets[which]
        at = bucket.find(key) if bucket else -1
        while at > 0 and at % self._stride:  # the same bytes across two entries
            at = bucket.find(key, at + 1)
        return which, at

    def swap(self, key: bytes, number: int) -> int | None:
        which, at = self.find(key)
        buckets = self._buckets
        bucket = buckets[which]
        if at < 0:
            buckets[which] = bucket + key + number.to_bytes(self._width)
            self._count += 1
            if self._count > len(buckets) * _ENTRIES_PER_BUCKET:
                self._split()
            return None
        place, end = at + self._key_bytes, at + self._stride
        buckets[which] = bucket[:place] + number.to_bytes(self._width) + bucket[end:]
        return int.from_bytes(bucket[place:end])

    def _split(self) -> None:
        """Add a bucket, and move the entries of an older one to it whose hash selects it."""
        buckets, stride, size = self._buckets, self._stride, self._key_bytes
        new = len(buckets)
        if new > self._mask:
            self._mask = 2 * self._mask + 1
        mask = self._mask
        old = new & mask >> 1
        stay: list[bytes] = []
        go: list[bytes] = []
        for at in range(0, len(buckets[old]), stride):
            entry = buckets[old][at : at + stride]
            (go if hash(entry[:size]) & mask == new else stay).append(entry)
        buckets[old] = b"".join(stay)
        buckets.append(b"".join(go))
