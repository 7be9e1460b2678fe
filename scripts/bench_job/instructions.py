"""Instructions of requests, counted by valgrind's callgrind, which other load does not disturb: a percent can be seen.

For this checkout, and beside it for another one if given.
"""

from __future__ import annotations

import platform
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from scripts.bench_job.counted import Counted, check_valgrind
from scripts.bench_job.counted_loads import AUTHORISED, AUTHORIZER, PLAIN, Load


class Row(NamedTuple):
    """Instructions of one request: in this checkout, and in the other one."""

    name: str
    now: float
    before: float | None


def measure(before: Path | None = None) -> list[Row]:
    """Count all loads. Raises ValgrindMissing."""
    check_valgrind()
    now = _counted({}, PLAIN)
    if before is None:
        now |= _counted(AUTHORIZER, [AUTHORISED])
    then = {} if before is None else _counted({}, PLAIN, before)
    return [Row(name, count, then.get(name)) for name, count in now.items()]


def markdown(rows: list[Row]) -> str:
    """Return the table, and the interpreter below it."""
    if all(row.before is None for row in rows):
        lines = ["| request | instructions |", "|---|---:|", *(f"| {row.name} | {row.now:,.0f} |" for row in rows)]
        return "\n".join([*lines, "", interpreter()])
    lines = ["| request | before | pykbroker | ratio |", "|---|---:|---:|---:|"]
    lines += [
        f"| {row.name} | {row.before:,.0f} | {row.now:,.0f} | {row.now / row.before:.3f} |"
        for row in rows
        if row.before
    ]
    return "\n".join([*lines, "", interpreter()])


def interpreter() -> str:
    """Return the interpreter's version, and what of its build changes the number of instructions."""
    options = str(sysconfig.get_config_var("CONFIG_ARGS"))
    built = [
        f"{'with' if option in options else 'without'} {name}"
        for option, name in (("--enable-optimizations", "PGO"), ("--with-lto", "LTO"))
    ]
    return f"{platform.python_implementation()} {platform.python_version()}, {' and '.join(built)}"


def _counted(settings: Mapping[str, str], loads: Iterable[Load], checkout: Path | None = None) -> dict[str, float]:
    """Return the instructions of one request of each load, on a broker that starts empty."""
    with tempfile.TemporaryDirectory(prefix="pykbroker-counted-") as folder:
        broker = Counted(Path(folder), settings, checkout)
        broker.start()
        try:
            return {load.name: _only(broker, load) for load in loads}
        finally:
            broker.stop(600)


def _only(broker: Counted, load: Load) -> float:
    """The instructions of a load, without those of what is sent besides."""
    return broker.count(load) - (0 if load.also is None else broker.count(load.also))
