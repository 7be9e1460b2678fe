"""Emits functions that read long requests, and write long responses, a few elements at a time: generators that yield the
number of elements after each element of a list, or after some if these are strings or numbers.

Only structs with lists have functions of their own; the others, and tagged fields, are read and written by the functions of the
messages, whose code is not repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scripts.wiregen.classes import emit_version_check
from scripts.wiregen.code import Code
from scripts.wiregen.module import Module, domains, function, needs_version
from scripts.wiregen.reader import Reader
from scripts.wiregen.schema import Array, Field, MessageSchema, Nested, Scalar, StructSchema
from scripts.wiregen.writer import Writer

#: Strings or numbers of a list that are read or written together.
TOGETHER = 200


@dataclass
class MessagesModule:
    """What is imported from the module of the messages at ``path``."""

    path: str
    names: set[str] = field(default_factory=set)

    def use(self, name: str) -> str:
        """Import ``name``."""
        self.names.add(name)
        return name

    def imports(self) -> str:
        """The import statement."""
        module = self.path.removesuffix(".py").replace("/", ".")
        names = sorted(self.names, key=lambda name: (name.islower(), name))
        return f"from pykbroker.wire.{module} import {', '.join(names)}" if names else ""


def is_long(message: MessageSchema, struct: StructSchema) -> bool:
    """Whether a struct has a list that can be long: of a request any, of a response one of structs or strings."""
    for each in struct.fields:
        if each.tagged:
            continue
        if isinstance(each.type, Array):
            scalar = isinstance(each.type.element, Scalar)
            if message.kind == "request" or not scalar or each.type.element == Scalar("string"):
                return True
        elif isinstance(each.type, Nested) and is_long(message, message.by_name[each.type.name]):
            return True
    return False


def emit_sliced(module: Module, message: MessageSchema, plain: MessagesModule, code: Code) -> None:
    """Emit ``read`` for a request, ``write`` for a response."""
    cls = plain.use(message.name)
    reads = message.kind == "request"
    head = (
        f"def read(buf: bytes, pos: int, version: int) -> Generator[int, None, tuple[{cls}, int]]:"
        if reads
        else f"def write(out: bytearray, item: {cls}, version: int) -> Generator[int, None, None]:"
    )
    with code.block(head):
        code.line(f'"""As {message.name}.{"decode" if reads else "encode"}, a few elements at a time."""')
        emit_version_check(module, message, code)
        with code.block("try:"):
            _by_domain(module, message, plain, code, reads=reads)
        if reads:
            with code.block(f"except {module.use('MALFORMED')} as error:"):
                code.line(f'raise {module.use("malformed")}("{message.name}", version, error) from error')
            with code.block("if pos > len(buf):"):
                code.line(f'raise {module.use("truncated")}("{message.name}", version)')
            code.line("return result, pos")
        else:
            with code.block(f"except {module.use('UNENCODABLE')} as error:"):
                code.line(f'raise {module.use("unencodable")}("{message.name}", version, error) from error')


def _by_domain(module: Module, message: MessageSchema, plain: MessagesModule, code: Code, *, reads: bool) -> None:
    choices = domains(message, message.body)
    long = is_long(message, message.body)
    if not long:
        code.line("yield 0")
    for flexible, _ in reversed(choices):
        head = "" if len(choices) == 1 else f"if version >= {message.flexible.low}:" if flexible else "else:"
        name = function(module, message, message.body, "read" if reads else "write", flexible=flexible)
        version = ", version" if needs_version(message, message.body, flexible=flexible) else ""
        call = f"{name if long else plain.use(name)}({'buf, pos' if reads else 'out, item'}{version})"
        with code.block(head):
            code.line(("result, pos = " if reads else "") + ("yield from " if long else "") + call)


def make_generator(code: Code, start: int) -> None:
    """Let the function that begins at line ``start`` yield, if no version of it has a list."""
    if not any("yield" in line for line in code.lines[start:]):
        code.lines.insert(start + 1, "    yield 0")


@dataclass
class SlicedReader(Reader):
    """Emits the generator that reads a struct with lists."""

    plain: MessagesModule = field(default_factory=lambda: MessagesModule(""))

    def emit(self) -> None:
        """Emit the generator."""
        start = len(self.code.lines)
        super().emit()
        make_generator(self.code, start)

    def _returns(self, result: str) -> str:
        self.plain.use(self.module.classes[self.message.name, self.struct.name])
        return f"Generator[int, None, {result}]"

    def _parameters(self) -> str:
        return super()._parameters().replace("Buffer", "bytes")

    def _default(self, each: Field) -> str:
        default = super()._default(each)
        if default.endswith("()"):
            self.plain.use(default.removesuffix("()"))
        return default

    def _call(self, name: str) -> str:
        struct = self.message.by_name[name]
        if is_long(self.message, struct):
            self.plain.use(self.module.classes[self.message.name, name])
            return f"yield from {super()._call(name)}"
        call = super()._call(name)
        self.plain.use(call.partition("(")[0])
        self.plain.use(self.module.classes[self.message.name, name])
        return call

    def _content(self, each: Field, target: str) -> None:
        super()._content(each, target)
        if isinstance(each.type, Array) and isinstance(each.type.element, Nested):
            last = self.code.lines[-1]  # the append of the loop
            self.code.lines.append(last[: len(last) - len(last.lstrip())] + "yield 1")

    def _scalars(self, kind: str, target: str, size: str) -> None:
        self.code.line(f"{target} = []")
        self.code.line(f"count = {size}")
        with self.code.block(f"for n in range(0, count, {TOGETHER}):"):
            some = f"some_{kind}"
            super()._scalars(kind, some, f"min({TOGETHER}, count - n)")
            self.code.line(f"{target} += {some}")
            self.code.line(f"yield len({some})")

    def _tags_call(self, name: str, *, tagged: bool) -> None:
        if tagged:
            self.plain.use(f"{name}_tags")
        super()._tags_call(name, tagged=tagged)

    def _tags_function(self, name: str, cls: str, tagged: list[Field]) -> None:
        """The messages' own is called."""


@dataclass
class SlicedWriter(Writer):
    """Emits the generator that writes a struct with lists."""

    plain: MessagesModule = field(default_factory=lambda: MessagesModule(""))

    def emit(self) -> None:
        """Emit the generator."""
        start = len(self.code.lines)
        super().emit()
        make_generator(self.code, start)

    def _returns(self) -> str:
        self.plain.use(self.module.classes[self.message.name, self.struct.name])
        return "Generator[int, None, None]"

    def _call(self, name: str, value: str) -> str:
        struct = self.message.by_name[name]
        call = super()._call(name, value)
        if is_long(self.message, struct):
            return f"yield from {call}"
        self.plain.use(call.partition("(")[0])
        return call

    def _content(self, each: Field) -> None:
        super()._content(each)
        if isinstance(each.type, Array) and isinstance(each.type.element, Nested):
            last = self.code.lines[-1]  # the call in the loop
            self.code.lines.append(last[: len(last) - len(last.lstrip())] + "yield 1")

    def _scalars(self, kind: str, value: str) -> None:
        if kind != "string":
            super()._scalars(kind, value)
            return
        with self.code.block(f"for n in range(0, len({value}), {TOGETHER}):"):
            self.code.line(f"some = {value}[n : n + {TOGETHER}]")
            super()._scalars(kind, "some")
            self.code.line("yield len(some)")

    def _tags_call(self, name: str, tagged: list[Field], version: str) -> None:
        if tagged:
            self.plain.use(f"{name}_tags")
            for each in tagged:
                if each.struct and not isinstance(each.type, Array):
                    default = self.module.default(self.message, each)
                    if default.endswith("()"):
                        self.plain.use(default.removesuffix("()"))
        super()._tags_call(name, tagged, version)

    def _tags_function(self, name: str, cls: str, tagged: list[Field], version: str) -> None:
        """The messages' own is called."""
