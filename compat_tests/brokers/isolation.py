"""Transactions of a ledger and what was read of them, as a history that the crate ``adya`` judges, a checker of isolation that is not ours.

A partition is a list to which each transaction appends one value, and a reader reads one list. Read committed forbids that orders of
transactions contradict each other in two lists, that aborted ones are read, and parts of one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from compat_tests.harness.java import CLASSES

CARGO = shutil.which("cargo")
_CRATE, _VERSION = "adya", "0.1.0"
_LEGAL, _ILLEGAL = 0, 1


def _build() -> Path:
    """The checker, built once. Raises CalledProcessError."""
    root = CLASSES / f"{_CRATE}-{_VERSION}"
    program = root / "bin" / _CRATE
    if not program.exists():
        assert CARGO is not None
        options = ["--version", _VERSION, "--locked", "--no-default-features", "--debug", "--root", str(root)]
        subprocess.run([CARGO, "install", _CRATE, *options], capture_output=True, check=True)
    return program


def verdict(transactions: Mapping[int, str], reads: Iterable[Mapping[int, Sequence[int]]], partitions: int) -> str:
    """``ok N`` of N operations, ``illegal KINDS`` with the names of what is wrong, or ``unknown N``.

    ``transactions`` has by value ``ok`` if it was committed, ``fail`` if it was aborted, ``info`` if nobody knows. A read has the values
    of each partition, in their order.
    """
    operations = [
        (outcome, [["append", each, value] for each in range(partitions)]) for value, outcome in transactions.items()
    ]
    operations += [("ok", [["r", each, list(values)]]) for read in reads for each, values in read.items()]
    lines: list[dict[str, Any]] = []
    for process, (outcome, steps) in enumerate(operations):
        asked = [[*step[:2], None] if step[0] == "r" else step for step in steps]
        lines += [
            {"index": len(lines), "type": "invoke", "process": process, "value": asked},
            {"index": len(lines) + 1, "type": outcome, "process": process, "value": steps},
        ]
    history = CLASSES / f"{_CRATE}-history.jsonl"
    program = _build()
    history.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    command = [str(program), "check", "--json", "-m", "list-append", "-c", "read-committed", str(history)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == _LEGAL:
        return f"ok {len(operations)}"
    if done.returncode == _ILLEGAL:
        return f"illegal {' '.join(json.loads(done.stdout)['anomaly_types'])}"
    return f"unknown {len(operations)} {done.stdout} {done.stderr}"
