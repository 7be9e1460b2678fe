"""Whether a reader of one Protobuf schema understands what a writer of another writes. Source: "Protobuf compatibility rules" in the documentation of
Confluent's registry, whose names of rules these are, and "Updating a message type" in that of Protobuf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from pykbroker.registry.formats.parsed import Budget, Incompatibility

_F: Final = FieldDescriptorProto
#: Types that are read as each other.
_ALIKE: Final = (
    (_F.TYPE_INT32, _F.TYPE_INT64, _F.TYPE_UINT32, _F.TYPE_UINT64, _F.TYPE_BOOL, _F.TYPE_ENUM),
    (_F.TYPE_SINT32, _F.TYPE_SINT64),
    (_F.TYPE_STRING, _F.TYPE_BYTES),
    (_F.TYPE_FIXED32, _F.TYPE_SFIXED32),
    (_F.TYPE_FIXED64, _F.TYPE_SFIXED64),
    (_F.TYPE_FLOAT,),
    (_F.TYPE_DOUBLE,),
)
_GROUP: Final = {kind: number for number, kinds in enumerate(_ALIKE) for kind in kinds}
_MESSAGES: Final = (_F.TYPE_MESSAGE, _F.TYPE_GROUP)


def compare(
    original: Mapping[str, FileDescriptorProto], update: Mapping[str, FileDescriptorProto], own: str, budget: Budget
) -> list[Incompatibility]:
    """The incompatible differences of the files ``own``, each with its imports. Raises Malformed beyond the budget."""
    compared = _Comparison(_types(original), _types(update), budget)
    one, other = original[own], update[own]
    if one.package != other.package:
        compared.differs("PACKAGE_CHANGED")
    for name in dict.fromkeys(each.name for each in one.message_type):
        compared.message(_full(one.package, name), _full(other.package, name), name)
    return compared.found


def _full(package: str, name: str) -> str:
    return f".{package}.{name}" if package else f".{name}"


def _types(files: Mapping[str, FileDescriptorProto]) -> dict[str, tuple[DescriptorProto, str]]:
    """All messages by their full names, each with its package."""
    found: dict[str, tuple[DescriptorProto, str]] = {}
    todo = [
        (_full(file.package, each.name), each, file.package) for file in files.values() for each in file.message_type
    ]
    while todo:
        name, message, package = todo.pop()
        found[name] = message, package
        todo += [(f"{name}.{each.name}", each, package) for each in message.nested_type]
    return found


class _Comparison:
    def __init__(
        self,
        original: Mapping[str, tuple[DescriptorProto, str]],
        update: Mapping[str, tuple[DescriptorProto, str]],
        budget: Budget,
    ) -> None:
        self._original, self._update = original, update
        self.found: list[Incompatibility] = []
        self._budget = budget
        self._path: list[str] = ["#"]
        self._seen: set[tuple[str, str]] = set()

    @contextmanager
    def _at(self, step: str) -> Iterator[None]:
        self._path.append(step)
        try:
            yield
        finally:
            self._path.pop()

    def differs(self, rule: str) -> None:
        """Note an incompatible difference."""
        path = "/".join(self._path) + ("/" if len(self._path) == 1 else "")
        self._budget.walk(len(path))
        self.found.append(Incompatibility(rule, path))

    def message(self, one: str, other: str, step: str) -> None:
        """Compare two messages by their full names."""
        if (one, other) in self._seen:
            return
        self._seen.add((one, other))
        self._budget.spend()
        with self._at(step):
            if other not in self._update:
                if not self._original[one][0].options.map_entry:
                    self.differs("MESSAGE_REMOVED")
                return
            before, after = self._original[one][0], self._update[other][0]
            self._fields(before, after)
            for nested in before.nested_type:
                if not nested.options.map_entry:
                    self.message(f"{one}.{nested.name}", f"{other}.{nested.name}", nested.name)

    def _fields(self, before: DescriptorProto, after: DescriptorProto) -> None:
        old, new = _by_tag(before), _by_tag(after)
        self._budget.spend(len(old) + len(new))
        choices: dict[str, list[int]] = {}
        for tag, field in new.items():
            if name := _choice(after)(field):
                choices.setdefault(name, []).append(tag)
        for name, inside in choices.items():
            moved = sum(tag in old and not _choice(before)(old[tag]) for tag in inside)
            existing = sum(tag in old and bool(_choice(before)(old[tag])) for tag in inside)
            with self._at(name):
                if moved > 1:
                    self.differs("MULTIPLE_FIELDS_MOVED_TO_ONEOF")
                elif moved == 1 and existing:
                    self.differs("FIELD_MOVED_TO_EXISTING_ONEOF")
        kept = choices.keys()
        for tag, field in sorted({**new, **old}.items()):
            with self._at(str(tag)):
                if tag in old and tag in new:
                    self._field(old[tag], new[tag])
                elif tag not in new:
                    name = _choice(before)(field)
                    if field.label == _F.LABEL_REQUIRED:
                        self.differs("REQUIRED_FIELD_REMOVED")
                    elif name and name in kept:
                        self.differs("ONEOF_FIELD_REMOVED")
                elif field.label == _F.LABEL_REQUIRED:
                    self.differs("REQUIRED_FIELD_ADDED")

    def _field(self, before: FieldDescriptorProto, after: FieldDescriptorProto) -> None:
        one, other = self._entry(self._original, before), self._entry(self._update, after)
        if (one is None) != (other is None) or (before.type in _MESSAGES) != (after.type in _MESSAGES):
            self.differs("FIELD_KIND_CHANGED")
        elif one is not None and other is not None:
            for mine, theirs in zip(one.field, other.field, strict=True):
                self._field(mine, theirs)
        elif before.type in _MESSAGES:
            self._named(before.type_name, after.type_name)
        else:
            if _GROUP[before.type] != _GROUP[after.type]:
                self.differs("FIELD_SCALAR_KIND_CHANGED")
            repeated = (before.label == _F.LABEL_REPEATED) != (after.label == _F.LABEL_REPEATED)
            if repeated and after.type not in (_F.TYPE_STRING, _F.TYPE_BYTES):
                self.differs("FIELD_NUMERIC_LABEL_CHANGED")

    def _named(self, one: str, other: str) -> None:
        """A type is the same if it has the same name within its package, and fits."""
        if _local(self._original, one) != _local(self._update, other):
            self.differs("FIELD_NAMED_TYPE_CHANGED")
        elif one in self._original and other in self._update and not one.startswith(".google.protobuf."):
            self.message(one, other, one.rpartition(".")[2])

    @staticmethod
    def _entry(types: Mapping[str, tuple[DescriptorProto, str]], field: FieldDescriptorProto) -> DescriptorProto | None:
        """The pair of a map's key and value; None for other fields."""
        found = types.get(field.type_name) if field.type == _F.TYPE_MESSAGE else None
        return found[0] if found is not None and found[0].options.map_entry else None


def _by_tag(message: DescriptorProto) -> dict[int, FieldDescriptorProto]:
    return {each.number: each for each in message.field}


class _choice:  # noqa: N801 - used as a function
    """The name of the oneof that a field is in; "" for none, and for the synthetic one of an optional field."""

    def __init__(self, message: DescriptorProto) -> None:
        self._message = message

    def __call__(self, field: FieldDescriptorProto) -> str:
        if not field.HasField("oneof_index") or field.proto3_optional:
            return ""
        return str(self._message.oneof_decl[field.oneof_index].name)


def _local(types: Mapping[str, tuple[DescriptorProto, str]], name: str) -> str:
    """A type's name within its package."""
    found = types.get(name)
    return name if found is None else name.removeprefix(f".{found[1]}").removeprefix(".")
