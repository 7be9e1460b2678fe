"""``@kafka_world``: a test that is lived by many seeds."""

from __future__ import annotations

import functools
import inspect
import os
import re
import shlex
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, overload
from zlib import crc32

from pykbroker.worlds import report
from pykbroker.worlds.exploring import SHRINKING_RUNS, Failure, explore, replay
from pykbroker.worlds.tape import read_file, written
from pykbroker.worlds.world import World

#: How many seeds a test is lived by where nobody says.
SEEDS: Final = 50
_SEEDS_VARIABLE: Final = "KAFKA_WORLD_SEEDS"
#: The most characters of a test's name that the files of its report have.
_LONGEST_NAME: Final = 120

AsyncTest = Callable[..., Coroutine[Any, Any, None]]


@overload
def kafka_world(function: AsyncTest) -> Callable[..., None]: ...
@overload
def kafka_world(*, seeds: int = SEEDS, first: int = 1) -> Callable[[AsyncTest], Callable[..., None]]: ...


def kafka_world(function: AsyncTest | None = None, *, seeds: int = SEEDS, first: int = 1) -> Any:
    """Live an async test by ``seeds`` seeds from ``first`` on, after the calm life, until one fails. Its first argument is a
    ``World``, the others are pytest's fixtures.

    The failure carries the seed, the least schedule that fails, a timeline and the line to replay it. pytest's options
    ``--kafka-seed N``, ``--kafka-seeds N``, ``--kafka-tape FILE``, ``--kafka-shrink LIVES`` and ``--kafka-report DIR`` replace what
    stands here; so does the variable KAFKA_WORLD_SEEDS, as a number of seeds.
    """
    if function is None:
        return lambda given: _decorated(given, seeds, first)
    return _decorated(function, seeds, first)


def _decorated(function: AsyncTest, seeds: int, first: int) -> Callable[..., None]:
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"@kafka_world is for an async function; {function.__name__} is none: write async def")
    parameters = [*inspect.signature(function).parameters.values()]
    owner = parameters[:1] if _is_method(function) else []
    fixtures = parameters[len(owner) + 1 :]
    asked = any(each.name == "request" for each in fixtures)

    @functools.wraps(function)
    def lived(*args: Any, request: Any = None, **fixtures: Any) -> None:
        __tracebackhide__ = True  # pytest shows the test alone
        if asked:
            fixtures["request"] = request
        run_test(
            functools.partial(function, *args, **fixtures),
            seeds=seeds,
            first=first,
            config=_config(request),
            name=_name(request, function),
        )

    lived.is_kafka_world = True  # type: ignore[attr-defined]  # for the plugin
    del lived.__wrapped__  # pytest would ask for the fixtures of the original
    request = inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY)
    rest = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in fixtures if each.name != "request"]
    lived.__signature__ = inspect.Signature([*owner, request, *rest])  # type: ignore[attr-defined]
    return lived


def _is_method(function: AsyncTest) -> bool:
    """Whether it stands in a class."""
    return "." in function.__qualname__.rpartition("<locals>.")[2]


def _config(request: Any) -> Any:
    return None if request is None else request.config


def _name(request: Any, function: AsyncTest) -> str:
    return function.__qualname__ if request is None else request.node.nodeid


def run_test(
    test: Callable[[World], Coroutine[Any, Any, Any]], *, seeds: int, first: int, config: Any, name: str
) -> None:
    """Live a test by seeds. Raises what it raises, with the report as a note. ``config`` is pytest's, for its options."""
    __tracebackhide__ = True

    def option(name: str) -> Any:
        return None if config is None else config.getoption(name, None)

    one, tape = option("--kafka-seed"), option("--kafka-tape")
    count = option("--kafka-seeds") or _by_variable() or seeds
    chosen: Sequence[int] = range(first, first + count) if one is None else [one]
    lives = option("--kafka-shrink")
    if tape is not None:
        failure = replay(test, *read_file(Path(tape)))
    else:
        failure = explore(test, chosen, shrinking_runs=SHRINKING_RUNS if lives is None else lives)
    if failure is not None:
        _fail(failure, name, option("--kafka-report"))


def _by_variable() -> int | None:
    """The number of seeds that the variable says. Raises ValueError for what is none."""
    said = os.environ.get(_SEEDS_VARIABLE)
    if said is not None and (not said.isdecimal() or int(said) < 1):
        raise ValueError(f"{_SEEDS_VARIABLE} is {said!r}; write a number of seeds, 1 or more")
    return None if said is None else int(said)


def _fail(failure: Failure, name: str, folder: str | None) -> None:
    __tracebackhide__ = True
    hash_seed = os.environ.get("PYTHONHASHSEED", "random")
    prefix = "" if hash_seed in ("0", "random") else f"PYTHONHASHSEED={hash_seed} "  # pytest's plugin sets 0
    again = f"{prefix}pytest {shlex.quote(name)}"
    line = f"{again} --kafka-seed {failure.seed}"
    failure.error.add_note(report.text(failure, line))
    if hash_seed == "random":
        failure.error.add_note(
            "sets of strings have another order in each process here, and if the program goes by it, the seed is another life there: set "
            "PYTHONHASHSEED=0"
        )
    if folder is not None:
        try:
            page, tape = _written_to(Path(folder), failure, name, line)
        except OSError as error:  # the failure is told all the same
            failure.error.add_note(f"the report cannot be written to {folder}: {error.strerror}")
        else:
            failure.error.add_note(f"report: {page}; its schedule: {again} --kafka-tape {shlex.quote(str(tape))}")
    raise failure.error


def _written_to(folder: Path, failure: Failure, name: str, line: str) -> tuple[Path, Path]:
    """The page and the tape of a failure, under names of the test, its parameters and the seed. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^A-Za-z0-9_.]+", "-", name)[:_LONGEST_NAME].strip("-")
    if len(name) > _LONGEST_NAME or re.search(r"[^A-Za-z0-9_./:]", name):  # else another test could have the same
        stem = f"{stem}-{crc32(name.encode(errors='backslashreplace')):08x}"
    page, tape = (folder / f"{stem}-seed{failure.seed}.{kind}" for kind in ("html", "tape"))
    page.write_text(report.page(failure, name, line), encoding="utf-8", errors="backslashreplace")
    tape.write_text(written(failure.seed, failure.deviations), encoding="utf-8")
    return page, tape
