"""The limit on open files is shared so that nobody can take what the logs need."""

from __future__ import annotations

import resource

import pytest

from pykbroker.process.descriptors import allowed, divided


@pytest.mark.parametrize("limit", [64, 256, 1024, 4096, 1_048_576])
def test_nothing_is_promised_twice(limit: int) -> None:
    shares = divided(limit)
    assert shares.files + shares.connections < limit
    assert shares.files <= 1024
    assert min(shares) >= limit // 4 or shares.files == 1024


def test_the_present_limit_counts() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert allowed() == divided(soft)
