"""Compares responses, apart from values that always differ: ids that a broker generates, its times and addresses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from pykbroker.sessions.session import RecordedExchange

#: Fields with generated ids, and the kind of id: later requests contain them.
IDS: Final = {
    "member_id": "member",
    "leader": "member",
    "producer_id": "producer",
    "v3_and_below_producer_id": "producer",
    "ongoing_txn_producer_id": "producer",
    "topic_id": "topic",
    "session_id": "fetch session",
    "cluster_id": "cluster",
    "voter_directory_id": "directory",
    "replica_directory_id": "directory",
}
#: Timestamps of the broker's clock.
TIMES: Final = (
    *("throttle_time_ms", "log_append_time_ms", "transaction_start_time_ms", "last_timestamp"),
    *("last_fetch_timestamp", "last_caught_up_timestamp"),
)
ADDRESSES: Final = ("host", "port", "client_host", "log_dir")
#: Characters of a value that are shown.
_LONGEST: Final = 200
#: Offsets and epochs of the cluster's metadata log.
PROGRESS: Final = ("finalized_features_epoch",)
_BY_NATURE: Final = frozenset((*TIMES, *ADDRESSES, *PROGRESS))


class _Missing:
    """Stands for a missing field."""

    def __repr__(self) -> str:
        return "its default"


_MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of a response that differs from the recording. ``line`` is the request's in the session's file."""

    line: int
    request: str
    path: str
    recorded: Any
    now: Any

    def __str__(self) -> str:
        return f"line {self.line}, {self.request}: {self.path} was {_short(self.recorded)} and is {_short(self.now)}"


@dataclass(slots=True)
class Played:
    """The result of a replay. ``by_nature`` counts differences that always occur, by field."""

    requests: int = 0
    differences: list[Difference] = field(default_factory=list)
    by_nature: Counter[str] = field(default_factory=Counter)

    @property
    def same(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        natural = ", ".join(f"{name} {count}" for name, count in sorted(self.by_nature.items()))
        head = f"{self.requests} requests, {len(self.differences)} differences"
        return "\n".join([head + (f"; by nature: {natural}" if natural else ""), *map(str, self.differences)])


class Comparing:
    """Compares responses one after the other, and maps ids of the recording to those of this replay."""

    def __init__(self) -> None:
        self.played = Played()
        self._ids: dict[tuple[str, Any], Any] = {}

    def translated(self, value: Any, name: str = "") -> Any:
        """Return a request with this replay's ids."""
        if isinstance(value, dict) and not _is_bytes(value):
            return {each: self.translated(inside, each) for each, inside in value.items()}
        if isinstance(value, list):
            return [self.translated(each, name) for each in value]
        return self.current_id(name, value)

    def current_id(self, name: str, recorded: Any) -> Any:
        """Return this replay's id for one of the recording; the same if none is known."""
        kind = IDS.get(name)
        return recorded if kind is None else self._ids.get((kind, _key(recorded)), recorded)

    def compare(self, recorded: RecordedExchange, now: RecordedExchange) -> None:
        """Record how the responses differ."""
        self.played.requests += 1
        if recorded.closed is not None or now.closed is not None:
            if (recorded.closed is None) != (now.closed is None):
                was, is_now = (_ended(each) for each in (recorded, now))
                self._differs(recorded, "the connection", was, is_now)
            return
        self.played.by_nature["correlation_id"] += 1
        self._walk(recorded, "", "", recorded.answer or {}, now.answer or {})

    def _walk(self, exchange: RecordedExchange, path: str, name: str, was: Any, now: Any) -> None:
        if isinstance(was, dict) and isinstance(now, dict) and not (_is_bytes(was) and "read" not in was):
            for each in was.keys() | now.keys() if "read" not in was else ("read",):
                inside = f"{path}.{each}" if path else each
                self._walk(exchange, inside, each, was.get(each, _MISSING), now.get(each, _MISSING))
        elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
            for number, (one, other) in enumerate(zip(was, now, strict=True)):
                self._walk(exchange, f"{path}[{number}]", name, one, other)
        elif was != now:
            self._unequal(exchange, path, name, was, now)

    def _unequal(self, exchange: RecordedExchange, path: str, name: str, was: Any, now: Any) -> None:
        kind = IDS.get(name)
        if kind is not None and not any(each in (_MISSING, "", -1) for each in (was, now)):
            known = self._ids.setdefault((kind, _key(was)), now)
            if known == now:
                self.played.by_nature[name] += 1
                return
        elif name in _BY_NATURE:
            self.played.by_nature[name] += 1
            return
        self._differs(exchange, path, was, now)

    def _differs(self, exchange: RecordedExchange, path: str, was: Any, now: Any) -> None:
        self.played.differences.append(Difference(exchange.line, str(exchange), path, was, now))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _ended(exchange: RecordedExchange) -> str:
    return "answered" if exchange.closed is None else f"closed ({exchange.closed})"


def _is_bytes(value: dict[str, Any]) -> bool:
    return "base64" in value


def _key(value: Any) -> Any:
    return value["base64"] if isinstance(value, dict) else value
