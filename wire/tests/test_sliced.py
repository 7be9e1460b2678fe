"""Requests that are read, and responses that are written, a few elements at a time: the same as at once."""

from __future__ import annotations

import random
from collections.abc import Generator
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.wire.apis import APIS
from pykbroker.wire.errors import WireError
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from pykbroker.wire.sliced import delete_groups
from pykbroker.wire.tests.kafka_messages import all_versions, build, encoded, message_class, schemas
from scripts.wiregen.output import module_path
from scripts.wiregen.sliced import TOGETHER, is_long


def long_messages() -> list[tuple[str, int]]:
    return [
        (name, version)
        for name, version in all_versions()
        if schemas()[name].kind in ("request", "response") and is_long(schemas()[name], schemas()[name].body)
    ]


def sliced(name: str) -> Any:
    path = module_path(schemas()[name]).removesuffix(".py").replace("messages/", "")
    return import_module(f"pykbroker.wire.sliced.{path}")


def run(steps: Generator[int, None, Any]) -> tuple[Any, list[int]]:
    """The result, and the numbers of elements between two steps."""
    counts: list[int] = []
    while True:
        try:
            counts.append(next(steps))
        except StopIteration as ended:
            return ended.value, counts


@given(st.sampled_from(long_messages()), st.randoms(use_true_random=False))
def test_slices_make_no_difference(which: tuple[str, int], source: random.Random) -> None:
    name, version = which
    message = build(name, version, source)
    data = encoded(message, version)
    if schemas()[name].kind == "request":
        (decoded, pos), _ = run(sliced(name).read(b"abc" + data, 3, version))
        assert (decoded, pos) == (message_class(name).decode(b"abc" + data, 3, version)[0], 3 + len(data))
        cut = data[: source.randrange(len(data))] if data else data
        assert refusal(lambda: run(sliced(name).read(cut, 0, version))) == refusal(
            lambda: message_class(name).decode(cut, 0, version)
        )
    else:
        out = bytearray(b"head")
        run(sliced(name).write(out, message, version))
        assert out == b"head" + data


def refusal(act: Any) -> str | None:
    try:
        act()
    except WireError as error:
        return str(error)
    return None


def test_every_served_api_with_lists_has_slices() -> None:
    assert {name for name, _ in long_messages()} >= {
        f"{api.name}{kind}" for api in APIS.values() for kind in ("Request", "Response") if api.name in _WITH_LISTS
    }


_WITH_LISTS = {"Produce", "OffsetCommit", "Metadata", "DescribeConfigs", "CreateAcls", "DeleteGroups", "OffsetFetch"}


def test_steps_are_small() -> None:
    names = [f"group-{number}" for number in range(1000)]
    data = encoded(DeleteGroupsRequest(names), 2)
    (request, _), counts = run(delete_groups.read(data, 0, 2))
    assert request.groups_names == names
    assert counts == [TOGETHER] * (1000 // TOGETHER)


def test_what_cannot_be_written_is_refused() -> None:
    response = DeleteGroupsResponse(throttle_time_ms=1 << 40)
    with pytest.raises(WireError, match="cannot write DeleteGroupsResponse version 2"):
        run(delete_groups.write(bytearray(), response, 2))
