"""The names on the command line are those of the loads."""

from __future__ import annotations

from pathlib import Path

from scripts.bench_job import options, plans


def test_every_load_can_be_named() -> None:
    assert list(options.LOADS) == list(plans.full(Path()))
    assert list(options.QUICK_LOADS) == list(plans.quick(Path()))
