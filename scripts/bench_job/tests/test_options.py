"""The names on the command line are those of the loads."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.bench_job import options, plans
from scripts.jars import ROOT


def test_every_load_can_be_named() -> None:
    assert list(options.LOADS) == list(plans.full(Path()))
    assert list(options.QUICK_LOADS) == list(plans.quick(Path()))


@pytest.mark.parametrize(("words", "rounds"), [(["--memory-bound", "--quick"], 1), (["--turns", "--rounds", "2"], 2)])
def test_a_quick_run_is_one_round(words: list[str], rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["scripts/bench", *words])
    assert options.options().rounds == rounds


def test_what_an_older_checkout_cannot_carry_is_left_out(tmp_path: Path) -> None:
    assert plans.left_out_before(ROOT) == []
    needing = {"tls", "storm", "share-1", "share-4", "share-16", "replicas"}
    assert set(plans.left_out_before(tmp_path)) == needing <= set(plans.full(tmp_path))
