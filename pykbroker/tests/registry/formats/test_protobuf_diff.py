"""Descriptors of strangers that are walked as often as they are long."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from pykbroker.registry.formats import protobuf_diff
from pykbroker.registry.formats.parsed import Budget, Malformed
from pykbroker.registry.formats.protobuf_diff import compare
from pykbroker.registry.formats.protobuf_text import text_of

_F = FieldDescriptorProto


def descriptor(fields: int, name: str = "M", kind: Any = _F.TYPE_INT32, *, choices: bool = True) -> FileDescriptorProto:
    """A message of so many fields, each in a oneof of its own."""
    message = DescriptorProto(name=name)
    for number in range(fields):
        field = message.field.add(name=f"f{number}", number=number + 1, type=kind, label=_F.LABEL_OPTIONAL)
        if choices:
            message.oneof_decl.add(name=f"o{number}")
            field.oneof_index = number
    return FileDescriptorProto(name="own", syntax="proto3", message_type=[message])


def test_fields_are_walked_once_for_all_oneofs(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    choice = protobuf_diff._choice.__call__

    def counted(self: Any, field: Any) -> str:
        nonlocal looked
        looked += 1
        return choice(self, field)

    monkeypatch.setattr(protobuf_diff._choice, "__call__", counted)
    files = {"own": descriptor(100)}
    assert compare(files, files, "own", Budget()) == []
    assert looked <= 300


def test_paths_of_differences_are_bounded_together() -> None:
    one, other = (descriptor(300, "M" * 100_000, kind, choices=False) for kind in (_F.TYPE_INT32, _F.TYPE_STRING))
    with pytest.raises(Malformed, match="too complex"):
        compare({"own": one}, {"own": other}, "own", Budget())


def test_a_text_is_written_in_as_many_steps_as_it_has_fields() -> None:
    def calls(fields: int) -> int:
        count = 0

        def counted(_frame: Any, event: str, _arg: Any) -> None:
            nonlocal count
            count += event == "c_call"

        given = descriptor(fields)
        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            text_of(given)
        finally:
            sys.setprofile(before)
        return count

    assert calls(200) < 3 * calls(100)
