"""The Pythons of this machine, for tests that run on each: on the path, in pyenv, or named by PYKBROKER_PYTHONS, as ``PATH`` names folders.

``python -m scripts.pythons`` prints those beside itself that pykbroker supports, ``3.12 COMMAND`` in a line, and on standard error which of
them are not there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

#: The second numbers of those that pykbroker supports, as pyproject.toml says.
SUPPORTED = range(11, 15)


def named() -> list[str]:
    """What PYKBROKER_PYTHONS names."""
    return [each for each in os.environ.get("PYKBROKER_PYTHONS", "").split(os.pathsep) if each]


def candidates(minor: int) -> Iterator[str]:
    """The commands that may be that Python."""
    yield from named()
    if sys.version_info[:2] == (3, minor):
        yield sys.executable
    if found := shutil.which(f"python3.{minor}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python")))


def is_python(command: str, minor: int) -> bool:
    """Whether a command is that Python: one of pyenv's may say that there is none."""
    asked = [command, "-c", "import sys; print(sys.version_info[:2])"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout.strip() == f"(3, {minor})"


def there(minors: Iterable[int]) -> dict[int, str]:
    """The command of each of them that is there."""
    first = {minor: next((each for each in candidates(minor) if is_python(each, minor)), None) for minor in minors}
    return {minor: command for minor, command in first.items() if command is not None}


def main() -> None:
    others = [minor for minor in SUPPORTED if minor != sys.version_info[1]]
    found = there(others)
    for minor, command in found.items():
        print(f"3.{minor} {command}")
    for minor in others:
        if minor not in found:
            print(f"There is no Python 3.{minor} here: nothing is run on it.", file=sys.stderr)
    for command in named():
        if not any(is_python(command, minor) for minor in SUPPORTED):
            print(f"PYKBROKER_PYTHONS names {command}, which is no Python that pykbroker supports.", file=sys.stderr)


if __name__ == "__main__":
    main()
