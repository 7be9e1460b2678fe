"""``@kafka_world``: a test that is lived by many seeds."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, overload

from pykbroker.worlds import report
from pykbroker.worlds.exploring import SHRINKING_RUNS, Failure, explore, replay
from pykbroker.worlds.tape import read, written
from pykbroker.worlds.world import World

#: How many seeds a test is lived by where nobody says.
SEEDS: Final = 50
_SEEDS_VARIABLE: Final = "KAFKA_WORLD_SEEDS"

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

    def option(name: str) -> Any:
        return None if config is None else config.getoption(name, None)

    one, tape = option("--kafka-seed"), option("--kafka-tape")
    count = option("--kafka-seeds") or int(os.environ.get(_SEEDS_VARIABLE, "0")) or seeds
    chosen: Sequence[int] = range(first, first + count) if one is None else [one]
    lives = option("--kafka-shrink")
    if tape is not None:
        failure = replay(test, *read(Path(tape).read_text()))
    else:
        failure = explore(test, chosen, shrinking_runs=SHRINKING_RUNS if lives is None else lives)
    if failure is not None:
        _fail(failure, name, option("--kafka-report"))


def _fail(failure: Failure, name: str, folder: str | None) -> None:
    hash_seed = os.environ.get("PYTHONHASHSEED", "random")
    prefix = "" if hash_seed in ("0", "random") else f"PYTHONHASHSEED={hash_seed} "  # pytest's plugin sets 0
    line = f"{prefix}pytest '{name}' --kafka-seed {failure.seed}"
    failure.error.add_note(report.text(failure, line))
    if hash_seed == "random":
        failure.error.add_note(
            "sets of strings have another order in each process here, and if the program goes by it, the seed is another life there: set "
            "PYTHONHASHSEED=0"
        )
    if folder is not None:
        where = Path(folder)
        where.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", name.rsplit("/", 1)[-1])
        page, tape = where / f"{stem}-seed{failure.seed}.html", where / f"{stem}-seed{failure.seed}.tape"
        page.write_text(report.page(failure, name, line))
        tape.write_text(written(failure.seed, failure.deviations))
        failure.error.add_note(f"report: {page}; its schedule: pytest '{name}' --kafka-tape {tape}")
    raise failure.error
