"""A Metadata answer that is encoded once."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from pykbroker.wire.messages.metadata import MetadataResponse


class EncodedOnce(MetadataResponse):
    """An answer in one version that remembers its bytes, and shares them with its copies."""

    __slots__ = ("_bytes", "_fields")

    def __init__(self, fields: tuple[Any, ...], shared: bytearray) -> None:
        super().__init__(*fields)
        self._fields = fields
        self._bytes = shared

    @classmethod
    def of(cls, answer: MetadataResponse) -> EncodedOnce:
        """The answer, not encoded yet."""
        return cls(tuple([getattr(answer, name) for name in MetadataResponse.__slots__]), bytearray())

    def again(self) -> EncodedOnce:
        """A copy for another client, with fields of its own (throttle time)."""
        return EncodedOnce(self._fields, self._bytes)

    def encode(self, out: bytearray, version: int) -> None:
        """As MetadataResponse.encode, always in the same version."""
        if self.throttle_time_ms:
            super().encode(out, version)
            return
        if not self._bytes:
            super().encode(self._bytes, version)
        out += self._bytes

    def encode_in_slices(self, out: bytearray, version: int) -> Generator[int, None, None]:
        """The same in slices, of which each yields the number of elements that it wrote."""
        from pykbroker.wire.sliced.metadata import write

        if self.throttle_time_ms or not self._bytes:
            own = bytearray()
            yield from write(own, self, version)
            if not (self.throttle_time_ms or self._bytes):
                self._bytes += own
            out += own
        else:
            out += self._bytes
