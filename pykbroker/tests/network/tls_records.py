"""Flights of TLS as records: spoiled, cut in two, left out, said twice, out of order, and strange ones put in between."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final

_HEADER: Final = 5
_MOST: Final = 2**14
#: Of a record: change of ciphers, alert, handshake, data, heartbeat, none that there is.
_TYPES: Final = (20, 21, 22, 23, 24, 99)
_VERSIONS: Final = (0x0000, 0x0002, 0x0300, 0x0301, 0x0303, 0x0304, 0x7F1C, 0xFFFF)
_LENGTHS: Final = (0, 1, 2, _MOST, _MOST + 1, _MOST + 257, 0xFFFF)
#: A warning, a fatal alert, close_notify; a change of ciphers; a request to begin anew; a change of keys.
_WHOLE: Final = tuple(map(bytes.fromhex, ("1501", "0228", "0100", "01", "00000000", "1800000101", "")))


class SpoiledRecords:
    """``spoil`` changes bytes, whatever they are."""

    def __init__(self, chance: random.Random, spoil: Callable[[bytes], bytes]) -> None:
        self._chance = chance
        self._spoil = spoil
        self._ways = (
            self._of_bytes,
            self._content,
            self._header,
            self._in_pieces,
            self._none,
            self._twice,
            self._another,
        )

    def __call__(self, flight: bytes) -> bytes:
        records = list(_split(flight))
        for _ in range(self._chance.choice((1, 1, 2, 4))):
            whole = [at for at, record in enumerate(records) if len(record) > _HEADER]
            if not whole:
                break
            at = self._chance.choice(whole)
            records[at : at + 1] = self._chance.choice(self._ways)(records[at])
        if self._chance.random() < 0.1:
            self._chance.shuffle(records)
        return b"".join(records)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """As the network may bring it."""
        while data:
            size = self._chance.choice((1, 3, 5, 6, 100, len(data), len(data)))
            yield data[:size]
            data = data[size:]

    # ---- ways: what stands in a record's place

    def _of_bytes(self, record: bytes) -> list[bytes]:
        return [self._spoil(record)]

    def _content(self, record: bytes) -> list[bytes]:
        """With a length that is right, so that it is looked at."""
        return [_record(record[0], record[1:3], self._spoil(record[_HEADER:])[:_MOST])]

    def _header(self, record: bytes) -> list[bytes]:
        kind = self._chance.choice((record[0], *_TYPES))
        version = self._chance.choice((record[1:3], *(each.to_bytes(2, "big") for each in _VERSIONS)))
        length = self._chance.choice((record[3:5], *(each.to_bytes(2, "big") for each in _LENGTHS)))
        return [bytes([kind]) + version + length + record[_HEADER:]]

    def _in_pieces(self, record: bytes) -> list[bytes]:
        """Which is allowed, as long as each has something."""
        size = self._chance.choice((1, 4, 50, 1000))
        content = record[_HEADER:]
        parts = [content[at : at + size] for at in range(0, len(content), size)]
        return [_record(record[0], record[1:3], part) for part in parts]

    def _none(self, _record: bytes) -> list[bytes]:
        return []

    def _twice(self, record: bytes) -> list[bytes]:
        return [record] * self._chance.choice((2, 3, 40))

    def _another(self, record: bytes) -> list[bytes]:
        strange = _record(self._chance.choice(_TYPES), record[1:3], self._chance.choice(_WHOLE))
        return self._chance.choice(([strange, record], [record, strange], [strange] * 40))


def _split(flight: bytes) -> Iterator[bytes]:
    while len(flight) > _HEADER:
        end = _HEADER + int.from_bytes(flight[3:_HEADER], "big")
        yield flight[:end]
        flight = flight[end:]


def _record(kind: int, version: bytes, content: bytes) -> bytes:
    return bytes([kind]) + version + len(content).to_bytes(2, "big") + content
