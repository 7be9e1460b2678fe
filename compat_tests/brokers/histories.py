"""What a ledger's clients saw of a topic, as a history that Porcupine judges: ``linearizable/main.go`` says what is legal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from compat_tests.harness.go_cases import build_go

_HERE = Path(__file__).parent


class Observation(NamedTuple):
    """A record that a client was told of, by an acknowledgement or by reading it, and when."""

    partition: int
    offset: int
    value: int
    at_ns: int


class End(NamedTuple):
    """What ListOffsets answered, and when it was asked and answered."""

    partition: int
    offset: int
    requested_ns: int
    answered_ns: int


def verdict(sights: Iterable[Observation], ends: Iterable[End], produced_ns: Mapping[int, int]) -> str:
    """``ok N`` of N operations, ``illegal PARTITION``, or ``unknown N`` if Porcupine took too long.

    An append happens after its value is produced, and before anybody is told of it. Where others at one offset were told of
    other values, these are two appends, and no log has both.
    """
    reported: dict[tuple[int, int, int], int] = {}
    for partition, offset, value, at_ns in sights:
        place = partition, offset, value
        reported[place] = min(at_ns, reported.get(place, at_ns))
    operations = [
        *(("append", *place, produced_ns[place[2]], at_ns) for place, at_ns in reported.items()),
        *(("end", each.partition, each.offset, 0, each.requested_ns, each.answered_ns) for each in ends),
    ]
    names = ("kind", "partition", "offset", "value", "call", "return")
    lines = "\n".join(json.dumps(dict(zip(names, each, strict=True))) for each in operations)
    judge = build_go(_HERE / "linearizable")
    return subprocess.run([str(judge)], input=lines, capture_output=True, text=True, check=True).stdout.strip()
