from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import pytest

from pykbroker.tests.testing.test_plugin import run
from pykbroker.worlds.decorator import kafka_world
from pykbroker.worlds.world import World

#: Named seeds that were lived, by the tests below.
_LIVED: list[int] = []

TESTS = """
import asyncio
from pykbroker.worlds import kafka_world

@kafka_world(seeds=5)
async def test_passes(world, tmp_path):
    assert tmp_path.is_dir()
    with open("seeds", "a") as file:
        file.write(f"{world.seed} ")

@kafka_world(seeds=50)
async def test_fails(world):
    async def program():
        for number in range(100):
            await asyncio.sleep(1)
    host = world.host(program)
    host.crash(world.any_time())
    await world.sleep(200)
    assert host.result is None and host.turns > 100, "the program was crashed"
"""

HASHED = """
import os
from pykbroker.worlds import kafka_world

@kafka_world(seeds=1)
async def test_hash(world):
    with open("hash", "w") as file:
        file.write(os.environ["PYTHONHASHSEED"])
"""


@kafka_world(seeds=3, first=5)
async def test_it_is_lived_by_its_seeds(world: World, tmp_path: Path) -> None:
    assert tmp_path.parts
    _LIVED.append(world.seed)
    await asyncio.sleep(1000)


def test_it_was_lived_by_its_seeds() -> None:
    _LIVED.clear()
    kafka_world(seeds=3, first=5)(_lives)()
    assert _LIVED == [0, 5, 6, 7]


class TestOfAClass:
    """A class of tests."""

    @pytest.mark.parametrize("number", [1, 2])
    @kafka_world(seeds=1)
    async def test_a_method_is_lived(self, world: World, number: int, tmp_path: Path) -> None:
        assert isinstance(self, TestOfAClass)
        assert isinstance(world, World)
        assert number
        assert tmp_path.parts


async def _lives(world: World) -> None:
    _LIVED.append(world.seed)


def test_it_is_for_async_functions() -> None:
    def test(world: World) -> None:
        """Not async."""

    with pytest.raises(TypeError, match="async def"):
        kafka_world(test)  # type: ignore[arg-type]


@pytest.mark.deep(but=2)
@pytest.mark.parametrize("options", [(), ("-n1",), ("--collect-only",), ("-s",), ("-p", "no:capture")], ids=str)
def test_sets_of_strings_have_one_order_in_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    status, output = run(tmp_path, HASHED, *options)
    assert status == 0, output
    assert output.count("pytest begins anew with PYTHONHASHSEED=0") == (options not in [("-n1",), ("--collect-only",)])
    if options != ("--collect-only",):
        assert (tmp_path / "hash").read_text() == "0"


def test_who_wants_a_random_order_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    status, output = run(tmp_path, TESTS, "-k", "fails", "--kafka-shrink", "0")
    assert status == 1, output
    assert "begins anew" not in output
    assert "set PYTHONHASHSEED=0" in output


def test_without_worlds_pytest_does_not_begin_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    status, output = run(tmp_path, "def test_it(): assert 'PYTHONHASHSEED' not in __import__('os').environ\n", head="")
    assert status == 0, output
    assert "begins anew" not in output


@pytest.mark.deep
def test_pytests_options_choose_seeds_and_a_failure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # another one would be told
    status, output = run(tmp_path, TESTS, "--kafka-seeds", "60", "--kafka-report", "failures")
    assert status == 1, output
    assert "1 failed, 1 passed" in output
    assert (tmp_path / "seeds").read_text().split() == list(map(str, range(61)))
    assert "program: crash 1 before turn" in output
    assert "replay: pytest test_it.py::test_fails --kafka-seed" in output
    assert "decorator.py" not in output, "pytest shows the test, and not who lives it"
    (tape,) = (tmp_path / "failures").glob("*.tape")
    assert list((tmp_path / "failures").glob("*.html"))
    (tmp_path / "seeds").unlink()
    status, output = run(tmp_path, TESTS, "--kafka-tape", str(tape))
    assert status == 1, output
    assert "the program was crashed" in output


NAMED = """
import pytest
from pykbroker.worlds import kafka_world

@pytest.mark.parametrize("name", ["x" * 300, "it's; touch there", "a/b", "a b", "a-b"], ids=str)
@kafka_world(seeds=1)
async def test_fails(world, name):
    world.note(name)
    raise ValueError(name)
"""


def test_a_report_has_a_file_for_each_test_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # another one would be told
    status, output = run(tmp_path, NAMED, "--kafka-report", "failures")
    assert status == 1, output
    assert "5 failed" in output
    assert output.count("E       ValueError") == 5
    names = {each.stem for each in (tmp_path / "failures").glob("*.html")}
    assert names == {each.stem for each in (tmp_path / "failures").glob("*.tape")}
    assert len(names) == 5
    replayed = next(line for line in output.splitlines() if "touch" in line and "replay: " in line)
    assert shlex.split(replayed.partition("replay: ")[2])[:2] == ["pytest", "test_it.py::test_fails[it's; touch there]"]


def test_a_report_that_cannot_be_written_hides_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    status, output = run(tmp_path, NAMED, "--kafka-report", "file", "-k", "a-b")
    assert status == 1, output
    assert "ValueError: a-b" in output
    assert "the report cannot be written to file: File exists" in output


@pytest.mark.deep(but=1)
@pytest.mark.parametrize(
    ("option", "variable", "words"),
    [
        (["--kafka-seeds", "0"], None, "write a number, 1 or more, and not '0'"),
        (["--kafka-seeds", "-5"], None, "write a number, 1 or more"),
        (["--kafka-shrink", "x"], None, "write a number, 0 or more"),
        ([], "-3", "KAFKA_WORLD_SEEDS is '-3'; write a number of seeds, 1 or more"),
        (["--kafka-tape", "missing"], None, "missing cannot be read: No such file or directory"),
    ],
)
def test_options_that_say_nothing_that_can_be_lived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: list[str], variable: str | None, words: str
) -> None:
    if variable is not None:
        monkeypatch.setenv("KAFKA_WORLD_SEEDS", variable)
    status, output = run(tmp_path, NAMED, *option, "-k", "a-b")
    assert status, output
    assert words in output
