"""The page on compatibility shows our defaults as they are."""

from __future__ import annotations

from pathlib import Path

from pykbroker.config.differences import table

PAGE = Path(__file__).parents[3] / "docs" / "compatibility.md"


def test_the_page_on_compatibility_shows_the_table_as_it_is() -> None:
    """Else put what `python -m pykbroker.config.differences` prints in its place."""
    assert f"### Defaults that differ\n\n{table()}\n\n" in PAGE.read_text()
