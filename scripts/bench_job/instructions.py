"""What requests take: instructions, counted by valgrind's callgrind, which other load does not disturb, so that a percent can be seen;
calls of functions in Python, and system calls.

For this checkout, and beside it for another one if given.
"""

from __future__ import annotations

import platform
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from compat_tests.security.listeners import Listeners, certificates
from compat_tests.security.tokens import Issuer
from scripts.bench_job.counted import SYSTEM_CALLS, Calls, Counted, Instructions, check_valgrind
from scripts.bench_job.counted_loads import AUTHORISED, AUTHORIZER, PLAIN, Load, signed_in

Costs = dict[str, float]
_KINDS: Final = (Instructions, Calls)


class Row(NamedTuple):
    """What one request takes by column: in this checkout, and in the other one."""

    name: str
    now: Costs
    before: Costs | None


def measure(before: Path | None = None) -> list[Row]:
    """Count all loads. Raises ValgrindMissing."""
    check_valgrind()
    now = _counted({}, PLAIN)
    if before is None:
        now |= _counted(AUTHORIZER, [AUTHORISED]) | _secured()
    then = {} if before is None else _counted({}, PLAIN, before)
    return [Row(name, costs, then.get(name)) for name, costs in now.items()]


def markdown(rows: list[Row]) -> str:
    """Return the table, and the interpreter below it."""
    columns = list(rows[0].now)
    if all(row.before is None for row in rows):
        lines = [f"| request | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
        lines += [f"| {row.name} | {' | '.join(f'{row.now[each]:,.0f}' for each in columns)} |" for row in rows]
    else:
        heads = [f"{each} before | now | ratio" for each in columns]
        lines = [f"| request | {' | '.join(heads)} |", f"|---|{'---:|' * 3 * len(columns)}"]
        lines += [
            f"| {row.name} | {' | '.join(_compared(row.before[each], row.now[each]) for each in columns)} |"
            for row in rows
            if row.before
        ]
    if SYSTEM_CALLS not in columns:
        lines += ["", "System calls are left out: strace is not installed."]
    return "\n".join([*lines, "", interpreter()])


def _compared(before: float, now: float) -> str:
    return f"{before:,.0f} | {now:,.0f} | {now / before:.3f}"


def interpreter() -> str:
    """Return the interpreter's version, and what of its build changes the number of instructions."""
    options = str(sysconfig.get_config_var("CONFIG_ARGS"))
    built = [
        f"{'with' if option in options else 'without'} {name}"
        for option, name in (("--enable-optimizations", "PGO"), ("--with-lto", "LTO"))
    ]
    flags = " ".join(str(sysconfig.get_config_var(each)) for each in ("OPT", "CFLAGS_NODIST")).split()
    compiled = " ".join(dict.fromkeys(flag for flag in flags if flag.startswith(("-O", "-m", "-f"))))
    name = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{name}, {' and '.join(built)}, compiled by {platform.python_compiler()} with {compiled}"


def _counted(settings: Mapping[str, str], loads: Collection[Load], checkout: Path | None = None) -> dict[str, Costs]:
    """Return what one request of each load takes, on brokers that start empty."""
    found: dict[str, Costs] = {load.name: {} for load in loads}
    for kind in _KINDS:
        with tempfile.TemporaryDirectory(prefix="pykbroker-counted-") as folder:
            broker = kind(Path(folder), settings, checkout)
            if "listeners" in settings:  # the first is the plain one
                broker.port = int(settings["listeners"].partition(",")[0].rpartition(":")[2])
            broker.start()
            try:
                for load in loads:
                    found[load.name] |= zip(kind.columns, _only(broker, load), strict=True)
                    print(f"{load.name}: {found[load.name]}", file=sys.stderr, flush=True)
            finally:
                broker.stop(600)
    return found


def _secured() -> dict[str, Costs]:
    with tempfile.TemporaryDirectory(prefix="pykbroker-counted-") as folder:
        listeners = Listeners(certificates(Path(folder), Issuer()))
        settings = {**listeners.settings, "listeners": listeners.listeners}
        return _counted(settings, [Load("connection with TLS and SCRAM-SHA-256", partial(signed_in, listeners))])


def _only(broker: Counted, load: Load) -> tuple[float, ...]:
    """What a load takes, without what is sent besides."""
    costs = broker.count(load)
    if load.also is None:
        return costs
    return tuple(all_of_it - other for all_of_it, other in zip(costs, broker.count(load.also), strict=True))
