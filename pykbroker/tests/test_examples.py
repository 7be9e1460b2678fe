"""What property tests draw depends on no seed that nobody sees, and on nothing that other tests did."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pykbroker.tests.kit.depth import is_long


def _drawn() -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []

    @settings(max_examples=200, phases=[Phase.generate])
    @given(st.integers(), st.text())
    def look(number: int, text: str) -> None:
        found.append((number, text))

    look()
    return found


def test_the_profile_asks_the_machine_for_no_speed() -> None:
    assert settings.default.deadline is None
    assert HealthCheck.too_slow in settings.default.suppress_health_check


@pytest.mark.skipif(is_long(), reason="a long run draws other examples each time")
def test_examples_are_the_same_whatever_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _drawn()
    assert before == _drawn()
    file = tmp_path / "numbers_of_ours.py"
    file.write_text("".join(f"_ = {number * 7919}, 'text {number}'\n" for number in range(-9, 9)))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    monkeypatch.setitem(sys.modules, file.stem, importlib.util.module_from_spec(spec))
    assert before == _drawn()
