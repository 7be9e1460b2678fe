"""The table of what is supported, and what is printed from it."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from pykbroker.handlers.table import SUPPORTED, table
from pykbroker.wire.apis import request_class

ROOT = Path(__file__).parents[3]


def test_the_page_on_compatibility_shows_the_table_as_it_is() -> None:
    """Else put what `python -m pykbroker.handlers.table` prints in its place."""
    assert f"## APIs\n\n{table()}\n\n" in (ROOT / "docs" / "compatibility.md").read_text()


def test_the_readme_counts_the_apis() -> None:
    assert f"| {len(SUPPORTED)} APIs, " in (ROOT / "README.md").read_text()


def test_every_key_stands_once_and_in_order() -> None:
    keys = [api.key for api in SUPPORTED]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("api", SUPPORTED, ids=lambda api: api.key.name)
def test_a_row_is_within_kafkas_versions_and_its_handlers_card_says_so(api) -> None:
    low, high = request_class(api.key).VERSIONS
    assert low <= api.min_version <= api.max_version <= high
    card = importlib.import_module(f"pykbroker.handlers.{api.handler}").__doc__
    assert card is not None
    if api.min_version < api.max_version:
        versions = f"versions {api.min_version} to {api.max_version}"
    else:
        versions = f"version {api.max_version}"
    assert f"(key {int(api.key)}" in card
    assert versions in card.partition("\n\n")[0]


@pytest.mark.parametrize("api", SUPPORTED, ids=lambda api: api.key.name)
def test_a_row_names_a_handler_as_the_contract_has_it(api) -> None:
    module = importlib.import_module(f"pykbroker.handlers.{api.handler}")
    assert list(inspect.signature(module.handle).parameters) == ["broker", "ctx", "request"]
    for name, parameters in (
        ("failed", ["request", "version", "error"]),
        ("logs_of", ["broker", "version", "request"]),
    ):
        if hasattr(module, name):
            assert list(inspect.signature(getattr(module, name)).parameters) == parameters
