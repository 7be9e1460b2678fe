"""One generated module: the messages in it, the names it imports, the fixed layouts it precompiles."""

from __future__ import annotations

from dataclasses import dataclass, field

from scripts.wiregen.names import snake
from scripts.wiregen.schema import Array, Field, MessageSchema, Nested, Scalar, StructSchema
from scripts.wiregen.versions import NONE, Versions

# Word and struct code of each fixed-size type; u8 begins a compact length, zero is an empty list of tagged fields.
LAYOUT = {
    "int8": ("i8", "b", 1),
    "int16": ("i16", "h", 2),
    "int32": ("i32", "i", 4),
    "int64": ("i64", "q", 8),
    "uint16": ("u16", "H", 2),
    "uint32": ("u32", "I", 4),
    "bool": ("bool", "?", 1),
    "float64": ("f64", "d", 8),
    "uuid": ("uuid", "16s", 16),
    "u8": ("u8", "B", 1),
    "zero": ("zero", "x", 1),
}

PYTHON = {"bool": "bool", "float64": "float", "uuid": "bytes", "string": "str", "bytes": "bytes", "records": "Records"}
OWN_LOCALS = {"buf", "count", "end", "item", "known", "n", "out", "pos", "start", "tag", "value", "version"}
"""Local variables of generated functions that are not fields."""

SOURCES = {
    "pykbroker.wire.frames": {"records_size", "write_records"},
    "pykbroker.wire.message": {"NEVER_FLEXIBLE", "UNSET", "Message", "WireStruct"},
}


@dataclass
class Module:
    """The content of a module besides its code."""

    messages: list[MessageSchema]
    names: set[str] = field(default_factory=set)
    layouts: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)
    classes: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Name the class of every struct: by its schema name, or with its message's name before it on a clash."""
        owners: dict[str, set[str]] = {}
        for message in self.messages:
            for struct in message.structs:
                owners.setdefault(struct.name, set()).add(message.name)
        for message in self.messages:
            self.classes[message.name, message.body.name] = message.name
            for struct in message.structs:
                clash = len(owners[struct.name]) > 1 and not self._same(struct.name)
                self.classes[message.name, struct.name] = (message.name if clash else "") + struct.name

    def _same(self, name: str) -> bool:
        """Whether the struct is the same in all messages of the module."""
        first, *others = self.messages
        return all(
            each.by_name.get(name) == first.by_name.get(name)
            and (each.valid, each.flexible, each.has_records) == (first.valid, first.flexible, first.has_records)
            and each.reach[name] == first.reach[name]
            and not any(inner.struct for inner in each.by_name[name].fields)
            for each in others
        )

    def use(self, name: str) -> str:
        """Import ``name``."""
        self.names.add(name)
        return name

    def refuse(self, error: str, each: Field) -> str:
        """The statement that raises one of the errors about a field."""
        return f'raise {self.use(error)}("{each.name}")'

    def pack(self, types: list[str]) -> str:
        """The name of the function that packs these types."""
        return self._layout("pack", types)

    def unpack(self, types: list[str]) -> str:
        """The name of the function that unpacks these types at a position."""
        return self._layout("unpack", types)

    def _layout(self, verb: str, types: list[str]) -> str:
        self.layouts.add((verb, tuple(types)))
        return layout_name(verb, types)

    def python_type(self, message: MessageSchema, each: Field) -> str:
        """The annotation of a field, with None if the field can be None."""
        if isinstance(each.type, Array):
            text = f"list[{self._inner(message, each.type.element)}]"
        else:
            text = self._inner(message, each.type)
        return f"{text} | None" if optional(each) else text

    def _inner(self, message: MessageSchema, kind: Scalar | Nested) -> str:
        if isinstance(kind, Nested):
            return self.classes[message.name, kind.name]
        python = PYTHON.get(kind.name, "int")
        return self.use(python) if python == "Records" else python

    def default(self, message: MessageSchema, each: Field) -> str:
        """The expression of the default value, which creates an object for each instance if it is mutable."""
        if absent_struct(each):
            return "None"
        if isinstance(each.default, str) and each.struct:
            return f"{self.classes[message.name, each.default]}()"
        if each.type == Scalar("uuid"):
            return self.use("ZERO_UUID")
        return repr(each.default)

    def differs(self, message: MessageSchema, each: Field, value: str) -> str:
        """The condition that ``value`` is not the field's default."""
        default = self.default(message, each)
        if default == "None":
            return f"{value} is not None"
        if default in ("True", "False"):
            return f"not {value}" if default == "True" else value
        if isinstance(each.type, Array) and not optional(each):
            return value
        return f"{value} != {default}"


def layout_name(verb: str, types: list[str] | tuple[str, ...]) -> str:
    """The name of a precompiled layout: its types in words."""
    return "_".join(["", verb, *(LAYOUT[each][0] for each in types)])


def layout_size(types: list[str]) -> int:
    """The number of bytes of a layout."""
    return sum(LAYOUT[each][2] for each in types)


def optional(each: Field) -> bool:
    """Whether the Python value can be None."""
    return bool(each.nullable) or each.default is None or absent_struct(each)


def absent_struct(each: Field) -> bool:
    """Whether a tagged struct is represented by None when it is absent, which costs less than a struct of defaults."""
    return isinstance(each.type, Nested) and bool(each.tagged) and not each.nullable


def domains(message: MessageSchema, struct: StructSchema) -> list[tuple[bool, Versions]]:
    """The non-flexible and the flexible versions in which the struct occurs, as (flexible, versions)."""
    reach = message.reach.get(struct.name, NONE)
    classic = reach.below(message.flexible.low) if message.flexible else reach
    return [pair for pair in ((False, classic), (True, reach & message.flexible)) if pair[1]]


def function(module: Module, message: MessageSchema, struct: StructSchema, verb: str, *, flexible: bool) -> str:
    """The name of the function that reads or writes a struct in its flexible or its other versions."""
    both = len(domains(message, struct)) == 2
    return f"_{verb}_{snake(module.classes[message.name, struct.name])}" + ("_flexible" if flexible and both else "")


def needs_version(message: MessageSchema, struct: StructSchema, *, flexible: bool) -> bool:
    """Whether reading or writing the body of the struct depends on the version within its domain."""
    for is_flexible, versions in domains(message, struct):
        if is_flexible != flexible:
            continue
        for each in struct.fields:
            present = each.versions & versions
            if not present:
                continue
            if present != versions or (each.nullable & versions and not each.nullable.covers(present)):
                return True
            if each.struct and needs_version(message, message.by_name[each.struct], flexible=flexible):
                return True
    return False


def local(each: Field) -> str:
    """The local variable that holds a field."""
    return each.name + "_" if each.name in OWN_LOCALS else each.name


def element(cls: str, owner: StructSchema) -> str:
    """The local variable that holds one struct of a list, apart from the fields of its owner."""
    name = snake(cls)
    return name + "_" if name in OWN_LOCALS or name in {each.name for each in owner.fields} else name
