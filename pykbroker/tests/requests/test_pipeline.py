"""The places around a handler: their order, and that two never share one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from pykbroker.requests.pipeline import Pipeline, Place, PlaceTakenError, through


def named(place: Place, order: list[Place]) -> Any:
    def step(broker: Any, ctx: Any, request: Any, proceed: Callable[[], Any]) -> Any:
        order.append(place)
        return proceed()

    return through(step)


@pytest.mark.parametrize("seed", range(20))
def test_the_order_is_that_of_the_places_whenever_they_are_filled(seed: int) -> None:
    order: list[Place] = []
    pipeline = Pipeline({}, lambda: None)
    places = random.Random(seed).sample(list(Place), random.Random(seed).randint(1, len(Place)))
    for place in places:
        pipeline.fill(place, named(place, order))
    assert pipeline.around(3, lambda *asked: asked)("broker", "ctx", "request") == ("broker", "ctx", "request")
    assert order == sorted(places)


def test_authorization_is_before_all_that_may_answer() -> None:
    assert set(Place) - {Place.MEASURE, Place.OBSERVE, Place.THROTTLE} == {
        place for place in Place if place >= Place.AUTHORISE
    }


def test_who_fills_a_place_twice_gets_an_error() -> None:
    changes: list[None] = []
    pipeline = Pipeline({Place.AUTHORISE: named(Place.AUTHORISE, [])}, lambda: changes.append(None))
    with pytest.raises(PlaceTakenError, match="AUTHORISE is filled already"):
        pipeline.fill(Place.AUTHORISE, named(Place.AUTHORISE, []))
    assert not changes
    pipeline.empty(Place.AUTHORISE)
    assert not pipeline.fills(Place.AUTHORISE)
    pipeline.fill(Place.AUTHORISE, named(Place.AUTHORISE, []))
    pipeline.empty(Place.OBSERVE)  # empty already
    assert len(changes) == 2


def test_empty_places_cost_nothing() -> None:
    def handle(*_: Any) -> None: ...

    pipeline = Pipeline({}, lambda: None)
    assert pipeline.around(0, handle) is handle
    assert not pipeline.reads_size
