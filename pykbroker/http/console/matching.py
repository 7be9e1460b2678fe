"""Search conditions for records: text in the key, the value, a header, or anywhere.

Plain text only, since a regular expression could run for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.wire.records import Record

_HEX: Final = "hex:"
_MOST: Final = 1024


@dataclass(frozen=True, slots=True)
class Matcher:
    """All conditions must match. ``header`` is a header's name, with the text in its value."""

    anywhere: bytes | None = None
    key: bytes | None = None
    value: bytes | None = None
    header: tuple[str, bytes] | None = None
    since: int | None = None
    until: int | None = None
    any_case: bool = False

    @classmethod
    def of(cls, call: ConsoleCall) -> Matcher:
        """Parse the conditions. Raises VerbRefused."""
        any_case = call.flag("anycase")

        def needle(name: str) -> bytes | None:
            return _bytes(call.text(name, "", most=_MOST), any_case=any_case) or None

        header = call.text("header", "", most=_MOST)
        name, _, inside = header.partition("=")
        return cls(
            needle("text"),
            needle("key"),
            needle("value"),
            (name, _bytes(inside, any_case=any_case)) if header else None,
            call.maybe_whole("since"),
            call.maybe_whole("until"),
            any_case,
        )

    @property
    def fits_all(self) -> bool:
        """Whether there are no conditions."""
        return self == Matcher(any_case=self.any_case)

    def __call__(self, record: Record) -> bool:
        if self.since is not None and record.timestamp < self.since:
            return False
        if self.until is not None and record.timestamp > self.until:
            return False
        if self.key is not None and not self._has(record.key, self.key):
            return False
        if self.value is not None and not self._has(record.value, self.value):
            return False
        if self.header is not None and not self._has_header(record, *self.header):
            return False
        return self.anywhere is None or any(self._has(each, self.anywhere) for each in _parts(record))

    def _has(self, data: bytes | None, needle: bytes) -> bool:
        if data is None:
            return False
        return needle in (data.lower() if self.any_case else data)

    def _has_header(self, record: Record, name: str, needle: bytes) -> bool:
        return any(name == key and (not needle or self._has(value, needle)) for key, value in record.headers)


def _parts(record: Record) -> Iterable[bytes | None]:
    yield record.value
    yield record.key
    for name, value in record.headers:
        yield name.encode("utf-8", "surrogateescape")
        yield value


def _bytes(text: str, *, any_case: bool) -> bytes:
    """Return the bytes to search for: those of the text, or hexadecimal digits after ``hex:``."""
    if text.startswith(_HEX):
        try:
            return bytes.fromhex(text.removeprefix(_HEX))
        except ValueError as error:
            raise VerbRefused(
                400, f"behind {_HEX} there are pairs of hexadecimal digits, not {text[4:44]!r}"
            ) from error
    if any_case:
        text = text.lower()
    return text.encode("utf-8", "replace")
