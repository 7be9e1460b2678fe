"""The image: what its Dockerfile makes serves its data as any user, with any command, and its commands find the folder."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.harness.process import ROOT
from compat_tests.image.dockerfile import in_context, steps
from compat_tests.image.engine import Container, Image, available, build

DOCKERFILE = ROOT / "Dockerfile"
needs_root = pytest.mark.skipif(
    not available(), reason="building without an engine needs root, namespaces and overlays"
)
ELSEWHERE = ("serve", "--listen", "0.0.0.0:9094", "--advertise", "localhost:9094")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    with build(tmp_path_factory.mktemp("image")) as built:
        yield built


@pytest.fixture
def volume(image: Image) -> str:
    """The folder that the Dockerfile names as a volume, empty."""
    (folder,) = (step.text for step in steps(DOCKERFILE) if step.instruction == "VOLUME")
    image.as_root("find", folder, "-mindepth", "1", "-delete")
    return folder


def ready(container: Container) -> str:
    line = container.process.stdout.readline()
    assert line.startswith("pykbroker ready"), container.process.stderr.read()
    return line


@needs_root
@pytest.mark.parametrize("user", [None, "12345:0", "12345:12345"])
@pytest.mark.parametrize("command", [(), ELSEWHERE], ids=["as it is", "overridden"])
def test_it_serves_keeps_and_stops(image: Image, volume: str, user: str | None, command: tuple[str, ...]) -> None:
    port = "9094" if command else "9092"
    with image.container(*command, user=user) as container:
        assert f":{port}" in ready(container)
        listed = container.execute("pykbroker", "brokers", "list")
        assert (listed.returncode, listed.stderr) == (0, "")
        assert f"localhost:{port}" in listed.stdout
        produced = container.execute("pykbroker", "produce", "-b", f"localhost:{port}", "orders", given="one\ntwo\n")
        assert produced.returncode == 0, produced.stderr
        consumed = container.execute("pykbroker", "consume", "-b", f"localhost:{port}", "orders", "-n", "2")
        assert consumed.stdout.split() == ["one", "two"], consumed.stderr
        container.process.send_signal(signal.SIGTERM)
        assert container.process.wait(30) == 0
    kept = image.as_root("find", volume, "-name", "meta.properties")
    assert len(kept.split()) == 1


@needs_root
def test_a_volume_with_lost_and_found_in_its_root_is_served(image: Image, volume: str) -> None:
    image.as_root("mkdir", "-m", "700", f"{volume}/lost+found")
    with image.container() as container:
        ready(container)


@needs_root
def test_no_tests_and_no_other_top_level_name_are_installed(image: Image) -> None:
    files = image.as_root("sh", "-c", "pip show --files pykbroker").partition("Files:")[2].split()
    assert {name.split("/")[0] for name in files} - {"..", "__pycache__"} <= {"pykbroker"} | {
        name.split("/")[0] for name in files if re.match(r"pykbroker-[^/]*\.dist-info", name)
    }
    assert not [name for name in files if "/tests/" in name]


def test_what_is_needed_is_a_layer_before_the_sources() -> None:
    texts = [f"{step.instruction} {step.text}" for step in steps(DOCKERFILE)]
    (needed,) = (number for number, text in enumerate(texts) if "--requirement" in text)
    sources = [number for number, text in enumerate(texts) if text in ("COPY wire wire", "COPY pykbroker pykbroker")]
    assert len(sources) == 2
    assert needed < min(sources)


@pytest.mark.parametrize(
    ("name", "inside"),
    [
        ("pyproject.toml", True),
        ("setup.py", True),
        ("README.md", True),
        ("LICENSE", True),
        ("pykbroker/__init__.py", True),
        ("pykbroker/storage/log.py", True),
        ("wire/messages/fetch.py", True),
        (".git/config", False),
        (".venv/bin/python", False),
        ("build/jars/kafka/kafka-clients-4.3.1.jar", False),
        ("pykbroker-data/meta.properties", False),
        ("pykbroker.egg-info/PKG-INFO", False),
        ("pykbroker/tests/test_node.py", False),
        ("pykbroker/__pycache__/node.cpython-312.pyc", False),
        ("wire/tests/test_errors.py", False),
        ("compat_tests/conftest.py", False),
    ],
)
def test_what_the_builder_is_given(name: str, inside: bool) -> None:
    assert in_context(name, (Path(ROOT) / ".dockerignore").read_text()) is inside
