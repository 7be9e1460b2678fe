"""Divides walks over what a registry has, which may be much, over turns of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Sequence
from typing import TypeVar

T = TypeVar("T")


async def in_turns(items: Sequence[T], at_once: int = 200) -> AsyncIterator[T]:
    """The items, ``at_once`` of them in a turn. What they are about may change meanwhile."""
    for number, each in enumerate(items):
        if number and not number % at_once:
            await asyncio.sleep(0)
        yield each


async def in_steps(work: Generator[float, None, T]) -> T:
    """The result of work, with others served between its steps. What it is about may change meanwhile."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
        await asyncio.sleep(0)
