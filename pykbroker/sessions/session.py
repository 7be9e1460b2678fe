"""A session as a value and as a file: JSON lines, the first about the session, then one per request, in order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pykbroker import __version__

_FORMAT: Final = 1


class BadSession(ValueError):
    """A file is not a session; the text begins with the place."""


@dataclass(slots=True)
class RecordedExchange:
    """A request with its response.

    ``requested`` and ``answered`` are positions in the order of events; without ``answered``, the request was open when the
    recording ended.
    """

    #: Line in the file.
    line: int
    requested: int
    #: Number of the connection, and its broker.
    connection: int
    broker: int
    at_ms: int
    api: str = ""
    version: int = -1
    client_id: str | None = None
    request: dict[str, Any] | None = None
    #: The bytes of a request that cannot be decoded, in base64.
    frame: str | None = None
    answered: int | None = None
    #: None without a response: Produce with acks=0, or ``closed``.
    answer: dict[str, Any] | None = None
    #: Version of the response; differs from ``version`` for an unsupported ApiVersions.
    answer_version: int | None = None
    #: Why the connection was closed instead of a response.
    closed: str | None = None

    def __str__(self) -> str:
        return f"{self.api or 'a malformed request'} v{self.version} of {self.client_id}"


_OPTIONAL: Final = ("request", "frame", "answered", "answer", "answer_version", "closed")


@dataclass(slots=True)
class Session:
    """The requests in the order of their arrival."""

    exchanges: list[RecordedExchange] = field(default_factory=list)

    @property
    def brokers(self) -> list[int]:
        """Return the ids of the brokers that got requests."""
        return sorted({exchange.broker for exchange in self.exchanges})

    def write(self, path: Path) -> None:
        """Write a file, replacing an existing one."""
        lines: list[dict[str, Any]] = [{"session": _FORMAT, "pykbroker": __version__}]
        lines += [
            {
                name: value
                for name in RecordedExchange.__slots__
                if name != "line" and ((value := getattr(each, name)) is not None or name not in _OPTIONAL)
            }
            for each in self.exchanges
        ]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Session:
        """Read a file. Raises BadSession with file and line, and OSError."""
        session = cls()
        with path.open(encoding="utf-8") as lines:
            for number, text in enumerate(lines, 1):
                try:
                    found = json.loads(text)
                    if number == 1:
                        _check_head(found)
                    else:
                        session.exchanges.append(RecordedExchange(line=number, **found))
                except (ValueError, TypeError) as error:
                    raise BadSession(
                        f"{path}:{number}: {error}; write sessions with kafka.recording({str(path)!r})"
                    ) from error
        if not session.exchanges:
            raise BadSession(f"{path}: there are no requests in it; write sessions with kafka.recording({str(path)!r})")
        return session


def _check_head(found: Any) -> None:
    if not isinstance(found, dict) or found.get("session") != _FORMAT:
        raise ValueError(f'not the head of a session, {{"session": {_FORMAT}, ...}}')
