"""The documentation has the table of rights as the code has it."""

from __future__ import annotations

from pathlib import Path

from pykbroker.http.documented import table


def test_the_page_has_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs" / "http-api.md").read_text()
    assert table() in page, "replace it by: python -m pykbroker.http.documented"
