"""The tests of a Go module: downloaded and run by the Go toolchain, with their events parsed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from compat_tests.harness.client_suites import Outcome, SuiteCase
from compat_tests.harness.go_cases import GO

_FUNCTION = re.compile(r"^func (Test\w+)\(.*?^}", re.MULTILINE | re.DOTALL)
_OUTCOMES: dict[str, Outcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def module_folder(module: str, version: str, build: Path) -> Path:
    """Return the folder of a module's sources, downloaded if missing; ``build`` is any folder of this project."""
    assert GO is not None
    build.mkdir(parents=True, exist_ok=True)
    command = [GO, "mod", "download", "-json", f"{module}@{version}"]
    done = subprocess.run(command, cwd=build, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"go could not download {module}@{version}:\n{done.stderr}{done.stdout}")
    return Path(json.loads(done.stdout)["Dir"])


def module_copy(module: str, version: str, build: Path) -> Path:
    """Return a new, writable copy of a module's sources in ``build``, for tests that must be changed to run."""
    folder = build / f"{module.rpartition('/')[2]}-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        module_folder(module, version, build), folder, copy_function=shutil.copyfile
    )  # the cache is read-only
    for made in (folder, *(found for found in folder.rglob("*") if found.is_dir())):
        made.chmod(0o755)
    return folder


def broker_tests(package: Path, helpers: re.Pattern[str]) -> list[str]:
    """Return the package's tests whose source matches ``helpers``, such as those that connect to a broker."""
    return sorted(
        found[1]
        for file in package.glob("*_test.go")
        for found in _FUNCTION.finditer(file.read_text())
        if helpers.search(found[0])
    )


def run_tests(
    package: Path,
    wanted: list[str],
    environment: Mapping[str, str],
    limit_s: int,
    *,
    left_out: Collection[str] = (),
    packages: Sequence[str] = (".",),
) -> list[SuiteCase]:
    """Build the tests of the package (or of ``packages`` beneath it) and run the wanted ones, once.

    ``left_out`` are whole names of tests and subtests that must not run; they count as skipped.
    """
    assert GO is not None
    command = [GO, "test", "-json", "-count=1", f"-timeout={limit_s}s", f"-run=^({'|'.join(wanted)})$"]
    if left_out:
        command.append("-skip=" + "|".join("/".join(f"^{part}$" for part in name.split("/")) for name in left_out))
    command += packages
    done = subprocess.run(
        command, cwd=package, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    cases = read_events(done.stdout.splitlines())
    if not cases:
        raise RuntimeError(f"go test ran nothing in {package}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [*cases, *(SuiteCase(name, "skipped", "left out") for name in left_out)]


def read_events(lines: Iterable[str]) -> list[SuiteCase]:
    """Return the cases, by name, in the output of ``go test -json``.

    A test with subtests counts through them, unless it failed itself. A test that never ended (time limit, or another's
    panic) has failed.
    """
    outcomes: dict[str, Outcome | None] = {}
    output: defaultdict[str, str] = defaultdict(str)
    for line in lines:
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        name = event.get("Test")
        if name is None:
            continue
        if event["Action"] == "run":
            outcomes[name] = None
        elif event["Action"] == "output":
            output[name] = (output[name] + event["Output"])[-3000:]
        elif event["Action"] in _OUTCOMES:
            outcomes[name] = _OUTCOMES[event["Action"]]
    parents = {name.rpartition("/")[0] for name in outcomes}
    blamed = {
        parent for name, outcome in outcomes.items() if outcome in ("failed", None) for parent in _ancestors(name)
    }
    return [
        SuiteCase(name, outcome or "failed", output[name] if outcome != "passed" else "")
        for name, outcome in sorted(outcomes.items())
        if name not in parents or (outcome in ("failed", None) and name not in blamed)
    ]


def _ancestors(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]
