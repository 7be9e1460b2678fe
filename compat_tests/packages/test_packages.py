"""The packages: wheel and sdist are built from a clone, installed into empty environments, and serve from there."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path

import pytest

from compat_tests.harness.clone import clone
from compat_tests.harness.process import ROOT

_BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, "build_" + sys.argv[1])(sys.argv[2]))
"""
#: What an earlier build of other sources may have left.
LEFTOVERS = ("build/lib/wire/errors.py", "build/lib/pykbroker/gone.py", "build/lib/pykbroker/tests/test_gone.py")
#: What an earlier build has noted as its sources: setuptools packs such files again.
ONCE_PACKED = ("wire/errors.py", "compat_tests/conftest.py", "scripts/jars.py")


def environment(folder: Path, *packages: str) -> Path:
    """A virtual environment with these packages and nothing else; its folder of programs."""
    venv.create(folder)  # without pip, which takes longer to install than all else
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", "--no-compile"]
    done = subprocess.run([*pip, *packages], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "bin"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the sdist of a clone with an earlier build's leftovers."""
    folder = tmp_path_factory.mktemp("packages")
    sources = clone(folder / "clone")
    for name in LEFTOVERS:
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text("raise RuntimeError('a leftover')\n")
    (sources / "pykbroker.egg-info").mkdir()
    (sources / "pykbroker.egg-info" / "SOURCES.txt").write_text("\n".join(ONCE_PACKED))
    wanted = tomllib.loads((sources / "pyproject.toml").read_text())["build-system"]["requires"]
    python = environment(folder / "builder", *wanted) / "python"
    built = {}
    for kind in ("wheel", "sdist"):
        done = subprocess.run(
            [python, "-c", _BUILD, kind, str(folder)], cwd=sources, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        built[kind] = folder / done.stdout.splitlines()[-1]
    return built


@pytest.fixture(scope="module")
def in_wheel(packages: dict[str, Path]) -> list[str]:
    with zipfile.ZipFile(packages["wheel"]) as wheel:
        return wheel.namelist()


@pytest.fixture(scope="module")
def in_sdist(packages: dict[str, Path]) -> list[str]:
    """The names in the sdist, without its own folder."""
    with tarfile.open(packages["sdist"]) as sdist:
        assert not [member.name for member in sdist if not (member.isfile() or member.isdir())]
        return [member.name.partition("/")[2] for member in sdist if member.isfile()]


@pytest.fixture(scope="module")
def metadata(packages: dict[str, Path], in_wheel: list[str]) -> Message:
    (name,) = (name for name in in_wheel if name.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(packages["wheel"]) as wheel:
        return email.message_from_bytes(wheel.read(name))


def sources(*left_out: str) -> set[str]:
    """The modules of pykbroker in this repository, but for those in folders with these names."""
    files = [file for top in ("pykbroker", "pykbroker/wire") for file in (ROOT / top).rglob("*.py")]
    names = {str(file.relative_to(ROOT)) for file in files}
    return {name for name in names if not set(left_out) & set(name.split("/"))}


def test_the_wheel_takes_one_name_and_has_every_module_but_tests_and_the_simulator(in_wheel: list[str]) -> None:
    assert {name.split("/")[0] for name in in_wheel} - {"pykbroker"} == {in_wheel[-1].split("/")[0]}
    assert {name for name in in_wheel if name.endswith(".py")} == sources("tests", "simulation")
    assert "pykbroker/wire/messages/fetch.py" in in_wheel
    assert "pykbroker/py.typed" in in_wheel
    page = Path("pykbroker/http/console/page")
    files = {str(path.relative_to(ROOT)) for path in (ROOT / page).rglob("*") if path.is_file()}
    assert files == {name for name in in_wheel if name.startswith(f"{page}/")} != set()


def test_the_sdist_has_what_the_wheel_is_built_from(in_wheel: list[str], in_sdist: list[str]) -> None:
    modules = {name for name in in_wheel if name.startswith("pykbroker/")}
    assert modules <= set(in_sdist)
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE"} <= set(in_sdist)
    assert not [
        name
        for name in in_sdist
        if name.startswith(("build/", "wire/", "compat_tests/", "scripts/")) or "gone" in name or "/tests/" in name
    ]


def test_the_metadata_name_platforms_and_versions_and_no_place_that_nobody_knows(metadata: Message) -> None:
    classifiers = metadata.get_all("Classifier")
    assert {"Operating System :: POSIX :: Linux", "Operating System :: MacOS", "Typing :: Typed"} <= set(classifiers)
    assert not [line for line in classifiers if "Windows" in line or "OS Independent" in line]
    assert "kafka" in metadata["Keywords"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("Project-URL") is None


def test_the_description_has_no_link_that_breaks_elsewhere(metadata: Message) -> None:
    """An index shows the description without the files beside it."""
    text = metadata.get_payload()
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    assert "scripts/serve" in text
    targets = re.findall(r"\]\(([^)]*)\)", text) + re.findall(r"^\[[^\]]+\]:\s*(\S+)", text, re.MULTILINE)
    targets += re.findall(r"""(?:src|href)=["']([^"']*)""", text)
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


@contextmanager
def serving(command: list[str], folder: Path) -> Iterator[str]:
    """The address of a broker that a command has started in a folder."""
    command = [*command, "serve", "--listen", "127.0.0.1:0", "--ephemeral"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            ready = process.stdout.readline()
            assert ready.startswith("pykbroker ready"), process.stderr.read()
            yield ready.rpartition(" ")[2].strip()
            process.terminate()
            assert process.wait(120) == 0
        finally:
            process.kill()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder, with a package of his own by a name that this repository has at its top."""
    folder = tmp_path_factory.mktemp("home")
    for name in ("wire", "scripts"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise RuntimeError('not yours')\n")
    return folder


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_the_broker_starts_from_an_empty_environment(
    packages: dict[str, Path], home: Path, tmp_path: Path, kind: str
) -> None:
    programs = environment(tmp_path / "venv", f"{packages[kind]}[cli]")
    python, pykbroker = str(programs / "python"), str(programs / "pykbroker")
    with serving([python, "-m", "pykbroker"], home) as address:  # the folder is on the path
        sent = subprocess.run(
            [pykbroker, "produce", "-b", address, "orders"], input="one\n", cwd=home, text=True, check=False
        )
        assert sent.returncode == 0
        read = subprocess.run(
            [python, "-m", "pykbroker", "consume", "-b", address, "orders", "-n", "1"],
            cwd=home, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (read.stdout, read.returncode) == ("one\n", 0), read.stderr
    with serving([pykbroker], home):
        pass
