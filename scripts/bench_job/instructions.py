"""What a one-record produce costs in instructions of the CPU, counted by valgrind's callgrind: the same on every machine and under any
load, so a percent can be seen. Of plain listeners, and with an authorizer that has a thousand access lists.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.connection import Connection
from pykbroker.wire.message import Message
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from scripts.bench_job.crowding import one_record

#: What is between the two is the cost of so many produces more.
_FEW, _MANY = 200, 1200
_RULES: Final = 1000
_TOPIC: Final = "counted"
_COUNTED: Final = re.compile(r"Collected : (\d+)")
AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",  # whoever makes the lists is nobody yet
}
_TOPIC_TYPE, _LITERAL, _WRITE, _ALLOW = 2, 3, 4, 3


class ValgrindMissing(RuntimeError):
    """It is not installed."""


class Row(NamedTuple):
    """``instructions`` of one produce."""

    name: str
    instructions: float


def measure() -> list[Row]:
    """Raises ValgrindMissing."""
    if shutil.which("valgrind") is None:
        raise ValgrindMissing("valgrind counts the instructions; install it (on Debian: apt-get install valgrind)")
    return [
        Row("plain", _of_a_produce({}, rules=0)),
        Row(f"authorizer, {_RULES} access lists", _of_a_produce(AUTHORIZER, rules=_RULES)),
    ]


def markdown(rows: list[Row]) -> str:
    """The table."""
    plain = rows[0].instructions
    lines = ["| one-record produce | instructions | of plain |", "|---|---|---|"]
    lines += [f"| {row.name} | {row.instructions:,.0f} | {row.instructions / plain:.4f} |" for row in rows]
    return "\n".join(lines)


def _of_a_produce(settings: Mapping[str, str], rules: int) -> float:
    few, many = (_counted(settings, rules, produces) for produces in (_FEW, _MANY))
    return (many - few) / (_MANY - _FEW)


def _counted(settings: Mapping[str, str], rules: int, produces: int) -> int:
    """All instructions of a broker from its start to its end."""
    with tempfile.TemporaryDirectory(prefix="pykbroker-counted-") as folder:
        broker = _Counted(Path(folder), dict(settings))
        broker.start()
        try:
            _load(broker, rules, produces)
        finally:
            broker.stop(600)
        found = _COUNTED.search(broker.log_file.read_text(errors="replace"))
        assert found is not None, broker.log_tail()
        return int(found[1])


class _Counted(Pykbroker):
    """One that does the same in the same order each time."""

    start_limit_s = 600.0

    def command(self) -> list[str]:
        written = self.folder / "callgrind.out"
        return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={written}", *super().command()]

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONHASHSEED": "0"}


def _load(broker: Pykbroker, rules: int, produces: int) -> None:
    connection = Connection(broker.bootstrap, patience_s=600)
    _asked(connection, CreateTopicsRequest([CreatableTopic(_TOPIC, 1, 1)], 60_000), 7)
    if rules:
        _asked(connection, CreateAclsRequest([_rule(number) for number in range(rules)]), 3)
    for _ in range(produces):
        _asked(connection, one_record(_TOPIC, 100), 9)
    connection.close()


def _asked(connection: Connection, request: Message, version: int) -> None:
    answer = connection.ask(request, version)
    assert "error_code=0" in repr(answer) or not answer.__slots__, answer


def _rule(number: int) -> AclCreation:
    """Each for another user and topic; the last lets everybody write to the topic that is counted."""
    last = number == _RULES - 1
    topic, user = (_TOPIC, "ANONYMOUS") if last else (f"topic-{number}", f"user-{number}")
    return AclCreation(_TOPIC_TYPE, topic, _LITERAL, f"User:{user}", "*", _WRITE, _ALLOW)
