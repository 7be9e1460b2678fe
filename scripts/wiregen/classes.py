"""Emits the class of a struct or of a whole message."""

from __future__ import annotations

from scripts.wiregen.code import Code
from scripts.wiregen.module import Module, domains, function, needs_version
from scripts.wiregen.schema import Field, MessageSchema, StructSchema
from scripts.wiregen.versions import Versions

KEY_NAME = {
    "request": "API_KEY",
    "response": "API_KEY",
    "metadata": "API_KEY",
    "coordinator-key": "TYPE",
    "coordinator-value": "TYPE",
}


def emit_struct(module: Module, message: MessageSchema, struct: StructSchema, code: Code) -> None:
    """Emit the class of a struct inside a message."""
    name = module.classes[message.name, struct.name]
    with code.block(f"class {name}({module.use('WireStruct')}):"):
        owner = "several messages" if _shared(module, struct, name) else message.name
        code.line(f'"""Part of {owner}."""')
        _emit_fields(module, message, struct, code)


def emit_message(module: Module, message: MessageSchema, code: Code) -> None:
    """Emit the class of a message, with ``encode`` and ``decode``."""
    valid = message.valid
    flexible = message.flexible & valid
    with code.block(f"class {message.name}({module.use('Message')}):"):
        kind = {"request": "Request", "response": "Response"}.get(message.kind, "Record")
        code.line(f'"""{kind}, versions {valid}, flexible {flexible}."""')
        _emit_slots(message, message.body, code)
        if message.kind in KEY_NAME:
            code.line(f"{KEY_NAME[message.kind]} = {message.api_key}")
        code.line(f"VERSIONS = ({valid.low}, {valid.high})")
        code.line(f"FLEXIBLE_FROM = {message.flexible.low if message.flexible else module.use('NEVER_FLEXIBLE')}")
        code.line()
        _emit_init(module, message, message.body, code)
        code.line()
        _emit_encode(module, message, code)
        code.line()
        _emit_decode(module, message, code)


def _shared(module: Module, struct: StructSchema, name: str) -> bool:
    return list(module.classes.values()).count(name) > 1 and struct.name == name


def _emit_fields(module: Module, message: MessageSchema, struct: StructSchema, code: Code) -> None:
    _emit_slots(message, struct, code)
    if struct.fields or _keeps_unknown(message):
        _emit_init(module, message, struct, code)


def _keeps_unknown(message: MessageSchema) -> bool:
    return bool(message.flexible & message.valid)


def _emit_slots(message: MessageSchema, struct: StructSchema, code: Code) -> None:
    names = [each.name for each in struct.fields]
    if _keeps_unknown(message):
        names.append("unknown_tagged_fields")
    code.line()
    code.line(f"__slots__ = {tuple(names)!r}")
    code.line()


def _emit_init(module: Module, message: MessageSchema, struct: StructSchema, code: Code) -> None:
    reach = message.reach[struct.name]
    code.line("def __init__(")
    code.line("    self,")
    for each in struct.fields:
        kind = module.python_type(message, each)
        code.line(f"    {each.name}: {kind} = {_parameter_default(module, message, each)},{_note(each, reach)}")
    if _keeps_unknown(message):
        code.line("    unknown_tagged_fields: dict[int, bytes] | None = None,")
    with code.block(") -> None:"):
        for each in struct.fields:
            code.line(f"self.{each.name} = {_initial(module, message, each)}")
        if _keeps_unknown(message):
            code.line("self.unknown_tagged_fields = unknown_tagged_fields")


def _fresh(module: Module, message: MessageSchema, each: Field) -> bool:
    """Whether each object needs a default of its own."""
    default = module.default(message, each)
    return default == "[]" or default.endswith("()")


def _parameter_default(module: Module, message: MessageSchema, each: Field) -> str:
    return module.use("UNSET") if _fresh(module, message, each) else module.default(message, each)


def _initial(module: Module, message: MessageSchema, each: Field) -> str:
    if not _fresh(module, message, each):
        return each.name
    return f"{module.default(message, each)} if {each.name} is UNSET else {each.name}"


def _note(each: Field, reach: Versions) -> str:
    """A comment on the versions of a field; none if it is in all versions."""
    notes = []
    if not each.versions.covers(reach):
        here = each.versions & reach
        word = "version" if here.low == here.high else "versions"
        notes.append(f"{word} {here}" if here else "in no listed version")
    if each.tagged:
        notes.append(f"tag {each.tag}")
    if each.nullable & each.versions & reach and not each.nullable.covers(each.versions & reach):
        notes.append(f"null in {each.nullable}")
    return "  # " + ", ".join(notes) if notes else ""


def _emit_encode(module: Module, message: MessageSchema, code: Code) -> None:
    with code.block("def encode(self, out: bytearray, version: int) -> None:"):
        emit_version_check(module, message, code)
        with code.block("try:"):
            _by_domain(module, message, "write", code)
        with code.block(f"except {module.use('UNENCODABLE')} as error:"):
            code.line(f'raise {module.use("unencodable")}("{message.name}", version, error) from error')


def _emit_decode(module: Module, message: MessageSchema, code: Code) -> None:
    buffer = module.use("Buffer")
    code.line("@staticmethod")
    with code.block(f"def decode(buf: {buffer}, pos: int, version: int) -> tuple[{message.name}, int]:"):
        emit_version_check(module, message, code)
        with code.block("try:"):
            if not message.has_records:
                code.line("buf = bytes(buf)")
            else:
                code.line("buf = memoryview(buf)")
            _by_domain(module, message, "read", code)
        with code.block(f"except {module.use('MALFORMED')} as error:"):
            code.line(f'raise {module.use("malformed")}("{message.name}", version, error) from error')
        with code.block("if pos > len(buf):"):
            code.line(f'raise {module.use("truncated")}("{message.name}", version)')
        code.line("return item, pos")


def emit_version_check(module: Module, message: MessageSchema, code: Code) -> None:
    """Emit the refusal of a version that the message lacks."""
    low, high = message.valid.low, message.valid.high
    with code.block(f"if version != {low}:" if low == high else f"if not {low} <= version <= {high}:"):
        code.line(f'raise {module.use("unknown_version")}("{message.name}", version)')


def _by_domain(module: Module, message: MessageSchema, verb: str, code: Code) -> None:
    """Call the function for flexible or for other versions."""
    choices = domains(message, message.body)
    for flexible, _ in reversed(choices):
        head = "" if len(choices) == 1 else f"if version >= {message.flexible.low}:" if flexible else "else:"
        name = function(module, message, message.body, verb, flexible=flexible)
        version = ", version" if needs_version(message, message.body, flexible=flexible) else ""
        with code.block(head):
            if verb == "read":
                code.line(f"item, pos = {name}(buf, pos{version})")
            else:
                code.line(f"{name}(out, self{version})")
