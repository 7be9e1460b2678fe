"""The packages that users get: their licences are on a page, and those of the image are fixed by hashes."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from scripts.jars import ROOT
from scripts.licences import LOCK, declared, licence, locked, normal

EXTRAS_OF_THE_IMAGE = ("cli", "http", "security", "yaml", "registry")


def rows() -> dict[str, str]:
    page = (ROOT / "docs" / "licences.md").read_text()
    return dict(re.findall(r"(?m)^\| ([a-z0-9-]+) \| (.+?) \|", page.partition("|---|---|---|")[2]))


def test_every_package_is_on_the_page() -> None:
    """Else put in what `python -m scripts.licences` prints."""
    assert rows().keys() == declared().keys() | locked().keys()


@pytest.mark.parametrize("name", sorted(declared().keys() | locked().keys()))
def test_the_page_has_the_licence_of_the_metadata(name: str) -> None:
    stated = licence(name)
    if stated is None:
        pytest.skip("it is not installed here")
    assert rows()[name] == stated


def test_every_file_of_the_image_has_a_hash_and_nothing_says_where_it_is_from() -> None:
    text = re.sub(r"(?m)^#.*\n", "", LOCK.read_text()).replace("\\\n", "")
    for line in filter(None, text.splitlines()):
        assert re.fullmatch(r"[\w.-]+==\S+ (; [^:]+?)?( *--hash=sha256:[0-9a-f]{64})+", line), line
    assert "--require-hashes" in (ROOT / "Dockerfile").read_text()


def test_the_image_has_what_pyproject_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for line in (*project["dependencies"], *(line for extra in EXTRAS_OF_THE_IMAGE for line in extras[extra])):
        wanted = Requirement(line)
        if wanted.name == project["name"]:  # an extra that brings another one
            continue
        assert wanted.specifier.contains(locked()[normal(wanted.name)]), line
