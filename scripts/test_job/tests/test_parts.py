"""Parts of small tests: what is said meanwhile and at the end, the status, and which tests the parts hold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.jars import ROOT
from scripts.test_job import __main__ as job
from scripts.test_job.parts import Part, run

SOUND = "def test_one(): pass\ndef test_two(): pass\n"
FAULTY = SOUND + "def test_three(): assert 1 == 2, 'the fault'\n"
Make = Callable[[str, str], Part]


@pytest.fixture
def part(tmp_path: Path) -> Make:
    def make(name: str, tests: str) -> Part:
        file = tmp_path / f"test_{name}.py"
        file.write_text(tests)
        return Part(name, ("-p", "no:cacheprovider", str(file)), folder=tmp_path / "build")

    return make


@pytest.fixture(autouse=True)
def without_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of others take most of the time in which the runs of this file start."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.deep(but=1)
@pytest.mark.parametrize("at_once", [1, 5])
def test_all_are_run_and_told_and_summed_up(part: Make, capfd, at_once: int) -> None:
    assert run([part("above", SOUND), part("below", SOUND)], at_once) == 0
    said = capfd.readouterr().out
    for name in ("above", "below"):
        assert f"{name}: 2 passed in " in said
    closing = said.splitlines()[-1]
    assert closing.startswith("====")
    assert " 4 passed in " in closing


def test_a_failure_in_any_part_is_the_status_and_named_at_the_end(part: Make, capfd) -> None:
    kills = "import os, signal\ndef test_end(): os.kill(os.getpid(), signal.SIGKILL)\n"
    parts = [
        part("faulty", FAULTY),
        part("broken", "import nothing_of_this_name\n"),
        part("killed", kills),
        part("sound", SOUND),
    ]
    assert run(parts, 2) == 1
    said = capfd.readouterr().out
    lines = said.splitlines()
    assert "faulty: 1 failed, 2 passed in " in said
    assert "nothing_of_this_name" in said
    faulty, broken, killed, closing = lines[-4:]
    assert faulty.startswith("FAILED ")
    assert "test_three" in faulty
    assert broken.startswith("ERROR ")
    assert "test_broken" in broken
    assert killed == "killed ended without a result"
    assert " 1 failed, 4 passed, 1 error in " in closing
    shown = [line.split(" (")[0] for line in lines if line.endswith(" s of a processor)")]
    assert shown == ["sound", "faulty", "broken", "killed"]
    assert [each.process is not None and each.process.returncode for each in parts] == [1, 2, -signal.SIGKILL, 0]


def test_what_is_left_out_is_counted_at_the_end(part: Make, capfd) -> None:
    thinned = part("thinned", SOUND + "import pytest\n@pytest.mark.deep\ndef test_deep(): assert False\n")
    thinned.arguments = ("-p", "scripts.test_job.thinning", "-W", "ignore", *thinned.arguments)
    assert run([thinned], 1) == 0
    assert " 2 passed, 1 left out (for whole runs) in " in capfd.readouterr().out.splitlines()[-1]


@pytest.mark.deep
def test_a_part_that_stalls_is_ended_and_its_test_is_named(part: Make, capfd, monkeypatch: pytest.MonkeyPatch) -> None:
    """By Ctrl-C; by SIGABRT where that does nothing. What it waited for is in the log."""
    monkeypatch.setattr("scripts.test_job.parts.STALLED_S", 8.0)
    monkeypatch.setattr("scripts.test_job.parts.ENDING_S", 1.0)
    waits = SOUND + "import signal, threading\ndef test_waits(): threading.Event().wait()\n"
    deaf = (
        SOUND
        + "import signal\ndef test_deaf():\n    signal.pthread_sigmask(signal.SIG_BLOCK, {2})\n    signal.pause()\n"
    )
    assert run([part("deaf", deaf), part("waiting", waits)], 2) == -signal.SIGABRT
    said = capfd.readouterr().out
    for name, stalled, line in (("waiting", "test_waits", 4), ("deaf", "test_deaf", 6)):
        assert f"{name} stalled and was interrupted: " in said
        assert f"test_{name}.py::{stalled}" in said.partition(f"{name} stalled")[2]
        assert f"line {line} in {stalled}" in said


def test_ctrl_c_ends_the_parts_in_good_order(tmp_path: Path) -> None:
    """The test that runs then is taken down: its fixture says so."""
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    os.mkfifo(started)
    (tmp_path / "test_long.py").write_text(
        "import signal, pytest\nfrom pathlib import Path\n"
        f"@pytest.fixture\ndef broker():\n    yield\n    Path({str(stopped)!r}).touch()\n"
        # Not signal.pause(): a signal that comes just before it is seen behind it.
        f"def test_long(broker):\n    Path({str(started)!r}).write_text('now')\n    while True: signal.sigtimedwait((), 0.1)\n"
    )
    program = (
        "from pathlib import Path; from scripts.test_job.parts import Part, run; "
        f"run([Part('long', ('-p', 'no:cacheprovider', {str(tmp_path / 'test_long.py')!r}), folder=Path({str(tmp_path)!r}))], 2)"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        assert started.read_text() == "now"
        process.send_signal(signal.SIGINT)
    assert process.returncode != 0
    assert stopped.exists()


def test_every_suite_is_in_one_part() -> None:
    parts = {part.name: part for part in job.parts()}
    left_out = {argument.removeprefix("--ignore=") for argument in parts["others"].arguments[1:]}
    named = [argument for part in parts.values() for argument in part.arguments if argument.startswith("compat_tests/")]
    assert sorted(named) == sorted(left_out)
    assert all((ROOT / suite).is_dir() for suite in named)
    own = [path for name in job._OWN_PARTS for path in parts[name].arguments]
    assert {f"--ignore={path}" for path in own} == {*parts["units"].arguments} - {*job.UNIT}
    assert all((ROOT / path).is_dir() for path in own)


def test_a_part_is_as_nice_as_it_is_to_be(part: Make, capfd) -> None:
    nice = part("nice", f"import os\ndef test_nice(): assert os.nice(0) == {min(os.nice(0) + 3, 19)}\n")
    nice.nice = 3
    assert run([nice, part("usual", f"import os\ndef test_nice(): assert os.nice(0) == {os.nice(0)}\n")], 1) == 0


def test_every_unit_test_is_in_one_part_of_a_quick_run() -> None:
    others, *named = job.quick_parts()
    paths = [argument for part in named for argument in part.arguments if (ROOT / argument).exists()]
    assert len(set(paths)) == len(paths) == sum(len(part.arguments) - 3 for part in named)
    tops = set(others.arguments) & set(job.UNIT)
    assert not tops & set(paths)  # what is named is run, also where it is to be ignored
    assert tops | {path for path in paths if path in job.UNIT} == set(job.UNIT)
    assert {f"--ignore={path}" for path in paths} == set(others.arguments[3:]) - tops


def test_another_python_has_each_unit_test_in_a_quick_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one part of a whole run, and as a quick run of its own."""
    python = ROOT / "build" / "py3.99" / "bin" / "python"
    monkeypatch.setattr(job, "_OTHER_PYTHONS", [python])
    (part,) = (part for part in job.parts() if part.name == "py3.99")
    assert (part.python, part.environment) == (str(python), {job.QUICK_VARIABLE: "1"})
    assert {*part.arguments} > {"scripts.test_job.thinning", "wire", "pykbroker"}
    own, others = job.quick_parts(), job.quick_parts(str(python), "py3.99-")
    assert [part.arguments for part in own] == [part.arguments for part in others]
    assert {part.python for part in others} == {str(python)}
    assert len({part.log for part in (*own, *others)}) == 2 * len(own)


def test_a_part_has_its_variables(part: Make, capfd) -> None:
    given = part("given", "import os\ndef test_given(): assert os.environ['OF_THE_PART'] == 'yes'\n")
    given.environment = {"OF_THE_PART": "yes"}
    assert run([given], 1) == 0
    assert "OF_THE_PART" not in os.environ
