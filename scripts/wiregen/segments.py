"""Cuts the body of a struct into segments: a run of fixed-size fields and the beginning of what follows it.

One segment is read or written with one precompiled layout per piece of the version range in which the same fields are
present: the run, fused with the length (or its first byte) of the variable-size field after it.
"""

from __future__ import annotations

from dataclasses import dataclass

from scripts.wiregen.schema import Array, Field, Nested, Scalar, StructSchema
from scripts.wiregen.versions import Versions


@dataclass(frozen=True, slots=True)
class Segment:
    """Fields of fixed size, then one of variable size or, in flexible versions, the tagged fields, or nothing."""

    run: tuple[Field, ...]
    tail: Field | None
    tags: bool = False

    def present(self, version: int) -> tuple[Field, ...]:
        """The fields of the run that this version has."""
        return tuple(each for each in self.run if version in each.plain)

    def has_tail(self, version: int) -> bool:
        """Whether this version has the variable-size field."""
        return self.tail is not None and version in self.tail.plain

    def pieces(self, versions: Versions) -> list[Versions]:
        """The version range cut where the layout changes, highest first."""
        return versions.split(lambda version: (self.present(version), self.has_tail(version)))


def segments(struct: StructSchema, versions: Versions, *, flexible: bool) -> list[Segment]:
    """The segments of a struct for a range of versions; fields that none of them has are left out."""
    result = []
    run: list[Field] = []
    for each in struct.fields:
        if not each.plain & versions:
            continue
        if each.fixed:
            run.append(each)
        else:
            result.append(Segment(tuple(run), each))
            run = []
    if run or flexible:
        result.append(Segment(tuple(run), None, tags=flexible))
    return result


def type_name(each: Field) -> str:
    """The name of a fixed field's type."""
    assert isinstance(each.type, Scalar)
    return each.type.name


def prefix(each: Field, *, flexible: bool) -> str | None:
    """The type of the prefix of a variable-size value: its length, or for a nullable struct whether it is present."""
    if isinstance(each.type, Nested):
        present = "u8" if each.tagged else "int8"  # Kafka writes 0 or 1 in a tagged field, -1 or 1 elsewhere
        return present if each.nullable else None
    if flexible:
        return "u8"
    return "int32" if isinstance(each.type, Array) or each.type.name != "string" else "int16"


def condition(part: Versions, whole: Versions) -> str:
    """The test that a version of ``whole`` is in ``part``; empty when it always is."""
    if part.covers(whole):
        return ""
    if part.high >= whole.high:
        return f"version >= {part.low}"
    if part.low <= whole.low:
        return f"version <= {part.high}"
    return f"{part.low} <= version <= {part.high}"


def otherwise(part: Versions, whole: Versions) -> str:
    """The opposite of ``condition``: the test that a version of ``whole`` is not in ``part``; empty when it never is."""
    if part.covers(whole):
        return ""
    if part.high >= whole.high:
        return f"version < {part.low}"
    if part.low <= whole.low:
        return f"version > {part.high}"
    return f"not {part.low} <= version <= {part.high}"


def conjoin(word: str, test: str) -> str:
    """A block head such as ``if test:``; empty when there is no test."""
    return f"{word} {test}:" if test else ""
