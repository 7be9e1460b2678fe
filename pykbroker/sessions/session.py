"""A session as a value and as a file: JSON lines, the first about the session, then one for each request in its order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pykbroker import __version__

_FORMAT: Final = 1


class BadSession(ValueError):
    """A file that is no session; the text begins with the place."""


@dataclass(slots=True)
class Exchange:
    """A request and what came of it. ``asked`` and ``answered`` are its places in the order of all that happened; what has no
    ``answered`` was not over when the recording ended.
    """

    #: Where it stands in the file.
    line: int
    asked: int
    #: Number of the connection, and the broker at its end.
    connection: int
    broker: int
    at_ms: int
    api: str = ""
    version: int = -1
    client_id: str | None = None
    request: dict[str, Any] | None = None
    #: The bytes of what is no request that can be read, in base64.
    frame: str | None = None
    answered: int | None = None
    #: None where none was sent: a Produce with acks=0, or because of ``closed``.
    answer: dict[str, Any] | None = None
    #: Of the answer; another than ``version`` where ApiVersions was asked in one that is not served.
    answer_version: int | None = None
    #: Why the connection was closed in place of an answer.
    closed: str | None = None

    def __str__(self) -> str:
        return f"{self.api or 'a malformed request'} v{self.version} of {self.client_id}"


_OPTIONAL: Final = ("request", "frame", "answered", "answer", "answer_version", "closed")


@dataclass(slots=True)
class Session:
    """The requests in the order in which they came."""

    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def brokers(self) -> list[int]:
        """Those that were asked."""
        return sorted({exchange.broker for exchange in self.exchanges})

    def write(self, path: Path) -> None:
        """In place of what was there."""
        lines: list[dict[str, Any]] = [{"session": _FORMAT, "pykbroker": __version__}]
        lines += [
            {
                name: value
                for name in Exchange.__slots__
                if name != "line" and ((value := getattr(each, name)) is not None or name not in _OPTIONAL)
            }
            for each in self.exchanges
        ]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Session:
        """Raises BadSession with file and line, and OSError."""
        session = cls()
        with path.open(encoding="utf-8") as lines:
            for number, text in enumerate(lines, 1):
                try:
                    found = json.loads(text)
                    if number == 1:
                        _check_head(found)
                    else:
                        session.exchanges.append(Exchange(line=number, **found))
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
