"""Emits the functions that read a struct."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.wiregen.code import Code
from scripts.wiregen.module import LAYOUT, Module, element, function, layout_size, local, needs_version, optional
from scripts.wiregen.schema import Array, Field, MessageSchema, Nested, Scalar, StructSchema
from scripts.wiregen.segments import Segment, condition, conjoin, otherwise, prefix, segments, type_name
from scripts.wiregen.versions import Versions


@dataclass
class Reader:
    """Emits the reader of one struct in its flexible versions, or in the others."""

    module: Module
    message: MessageSchema
    struct: StructSchema
    versions: Versions
    flexible: bool
    code: Code

    def emit(self) -> None:
        """Emit the function, and the one for known tagged fields if there are any."""
        cls = self.module.classes[self.message.name, self.struct.name]
        name = function(self.module, self.message, self.struct, "read", flexible=self.flexible)
        tagged = [each for each in self.struct.fields if each.tagged & self.versions] if self.flexible else []
        with self.code.block(f"def {name}({self._parameters()}) -> {self._returns(f'tuple[{cls}, int]')}:"):
            for segment in segments(self.struct, self.versions, flexible=self.flexible):
                self._segment(segment)
            self.code.line(f"item = {cls}({', '.join(self._arguments())})")
            if self.flexible:
                self._tags_call(name, tagged=bool(tagged))
            self.code.line("return item, pos")
        if tagged:
            self._tags_function(f"{name}_tags", cls, tagged)

    def _returns(self, result: str) -> str:
        """The annotation of what the function returns."""
        return result

    def _parameters(self) -> str:
        buffer = self.module.use("Buffer") if self.message.has_records else "bytes"
        return f"buf: {buffer}, pos: int" + (", version: int" if self._needs_version(self.struct) else "")

    def _needs_version(self, struct: StructSchema) -> bool:
        return needs_version(self.message, struct, flexible=self.flexible)

    def _arguments(self) -> list[str]:
        """The positional arguments of the constructor; trailing defaults are left out."""
        arguments = []
        for each in self.struct.fields:
            here = each.plain & self.versions
            arguments.append(local(each) if here else "")
        while arguments and not arguments[-1]:
            arguments.pop()
        return [text or self._default(each) for text, each in zip(arguments, self.struct.fields, strict=False)]

    def _default(self, each: Field) -> str:
        return self.module.default(self.message, each)

    def _segment(self, segment: Segment) -> None:
        pieces = segment.pieces(self.versions)
        tail = segment.tail
        with_tail = [piece for piece in pieces if segment.has_tail(piece.low)]
        together = len(with_tail) == 1  # the variable field is read in the branch that has it
        if tail and (len(pieces) > 1 or optional(tail) or isinstance(tail.type, Array)):
            self.code.line(f"{local(tail)}: {self.module.python_type(self.message, tail)}")
        for index, piece in enumerate(pieces):
            last = index == len(pieces) - 1
            word = "if" if index == 0 else "elif"
            head = "" if len(pieces) == 1 else "else:" if last else f"{word} version >= {piece.low}:"
            with self.code.block(head):
                self._piece(segment, piece)
                if tail and together and segment.has_tail(piece.low):
                    self._value(tail, local(tail), piece)
                elif tail and not segment.has_tail(piece.low):
                    self.code.line(f"{local(tail)} = {self._default(tail)}")
        if tail and not together:
            absent_too = len(with_tail) < len(pieces)
            test = condition(tail.plain, self.versions) if absent_too else ""
            with self.code.block(conjoin("if", test)):
                self._value(tail, local(tail), tail.plain & self.versions)

    def _piece(self, segment: Segment, piece: Versions) -> None:
        """Read the fixed part of a segment for versions that share a layout; set what they lack to its default."""
        present = segment.present(piece.low)
        names = [local(each) for each in present]
        types = [type_name(each) for each in present]
        begin = "u8" if segment.tags else None
        if segment.tail and segment.has_tail(piece.low):
            begin = prefix(segment.tail, flexible=self.flexible)
        if begin:
            names.append("n")
            types.append(begin)
        self._unpack(names, types)
        for each in segment.run:
            if each not in present:
                self.code.line(f"{local(each)} = {self._default(each)}")

    def _unpack(self, names: list[str], types: list[str]) -> None:
        if not types:
            return
        if types == ["u8"]:
            self.code.line(f"{names[0]} = buf[pos]")
        else:
            target = ", ".join(names) if len(names) > 1 else f"({names[0]},)"
            self.code.line(f"{target} = {self.module.unpack(types)}(buf, pos)")
        self.code.line(f"pos += {layout_size(types)}")

    def _value(self, each: Field, target: str, versions: Versions) -> None:
        """Read a variable-size value whose prefix, where it has one, is in ``n``."""
        if isinstance(each.type, Nested) and not each.nullable:
            self._content(each, target)
            return
        nullable = each.nullable & versions
        null = "n == 0" if prefix(each, flexible=self.flexible) == "u8" else "n < 0"
        if not nullable:
            if prefix(each, flexible=self.flexible) != "u8" and not isinstance(each.type, Array):
                with self.code.block("if n < 0:"):
                    self.code.line(self.module.refuse("null_refused", each))
            self._length(each)
            self._content(each, target)
            return
        with self.code.block(f"if {null}:"):
            test = otherwise(nullable, versions)
            if test:
                with self.code.block(f"if {test}:"):
                    self.code.line(self.module.refuse("null_refused", each))
            self.code.line(f"{target} = None")
        with self.code.block("else:"):
            self._length(each, nullable=True)
            self._content(each, target)

    def _length(self, each: Field, *, nullable: bool = False) -> None:
        """Finish reading a length that does not fit its first byte, and refuse invalid lengths."""
        begin = prefix(each, flexible=self.flexible)
        if isinstance(each.type, Nested):
            return
        if begin == "u8":
            reader = "read_string_length" if each.type == Scalar("string") else "read_length"
            if isinstance(each.type, Array):
                reader = "read_count"
            with self.code.block("if n > 127:" if nullable else "if not 0 < n < 128:"):
                self.code.line(f"n, pos = {self.module.use(reader)}(buf, pos, n)")
        elif isinstance(each.type, Array):
            self.code.line(f"{self.module.use('check_count')}(buf, pos, n)")

    def _content(self, each: Field, target: str) -> None:
        size = "n - 1" if self.flexible else "n"
        if isinstance(each.type, Nested):
            self.code.line(f"{target}, pos = {self._call(each.type.name)}")
        elif isinstance(each.type, Array) and isinstance(each.type.element, Nested):
            self.code.line(f"{target} = []")
            with self.code.block(f"for _ in range({size}):"):
                one = self._element(each.type.element.name)
                self.code.line(f"{one}, pos = {self._call(each.type.element.name)}")
                self.code.line(f"{target}.append({one})")
        elif isinstance(each.type, Array):
            self._scalars(each.type.element.name, target, size)
        else:
            self.code.line("start = pos")
            self.code.line(f"pos += {size}")
            self.code.line(f"{target} = {self._slice(each.type.name)}")

    def _element(self, name: str) -> str:
        """The local variable for an element of a list of structs."""
        return element(self.module.classes[self.message.name, name], self.struct)

    def _slice(self, kind: str) -> str:
        if kind == "string":
            text = 'str(buf[start:pos], "utf-8", "replace")'
            return text if self.message.has_records else 'buf[start:pos].decode("utf-8", "replace")'
        if kind == "bytes" and self.message.has_records:
            return "bytes(buf[start:pos])"
        return "buf[start:pos]"

    def _scalars(self, kind: str, target: str, size: str) -> None:
        if kind == "string":
            reader = self.module.use("read_compact_strings" if self.flexible else "read_strings")
            self.code.line(f"{target}, pos = {reader}(buf, pos, {size})")
        elif kind == "uuid":
            self.code.line(f"{target}, pos = {self.module.use('read_uuids')}(buf, pos, {size})")
        else:
            _, letter, width = LAYOUT[kind]
            reader = self.module.use("read_numbers")
            self.code.line(f'{target}, pos = {reader}(buf, pos, {size}, "{letter}", {width})')

    def _call(self, name: str) -> str:
        struct = self.message.by_name[name]
        reader = function(self.module, self.message, struct, "read", flexible=self.flexible)
        return f"{reader}(buf, pos" + (", version)" if self._needs_version(struct) else ")")

    # Tagged fields

    def _tags_call(self, name: str, *, tagged: bool) -> None:
        with self.code.block("if n:"):
            if tagged:
                version = ", version" if self._needs_version(self.struct) else ""
                self.code.line(f"pos = {name}_tags(buf, pos, n, item{version})")
            else:
                reader = self.module.use("read_unknown_tags")
                self.code.line(f"item.unknown_tagged_fields, pos = {reader}(buf, pos, n)")

    def _tags_function(self, name: str, cls: str, tagged: list[Field]) -> None:
        buffer = "Buffer" if self.message.has_records else "bytes"
        version = ", version: int" if self._needs_version(self.struct) else ""
        self.code.line()
        self.code.line()
        with self.code.block(f"def {name}(buf: {buffer}, pos: int, n: int, item: {cls}{version}) -> int:"):
            self.code.line(f"count, pos = {self.module.use('read_tag_count')}(buf, pos, n)")
            with self.code.block("for _ in range(count):"):
                self.code.line(f"tag, pos, end = {self.module.use('read_tag')}(buf, pos)")
                for index, each in enumerate(tagged):
                    self._tag(each, "if" if index == 0 else "elif")
                with self.code.block("else:"):
                    with self.code.block("if item.unknown_tagged_fields is None:"):
                        self.code.line("item.unknown_tagged_fields = {}")
                    self.code.line("item.unknown_tagged_fields[tag] = bytes(buf[pos:end])")
                    self.code.line("pos = end")
                self.code.line(f"{self.module.use('check_tag_end')}(tag, pos, end)")
            self.code.line("return pos")

    def _tag(self, each: Field, word: str) -> None:
        with self.code.block(f"{word} tag == {each.tag}:"):
            test = otherwise(each.tagged, self.versions)
            if test:
                with self.code.block(f"if {test}:"):
                    self.code.line(self.module.refuse("tag_refused", each))
            versions = each.tagged & self.versions
            target = f"item.{each.name}"
            begin = prefix(each, flexible=True) if not each.fixed else type_name(each)
            if begin:
                self._unpack([target if each.fixed else "n"], [begin])
            if not each.fixed:
                if isinstance(each.type, Array) and isinstance(each.type.element, Nested):
                    self._tagged_list(each, versions)
                else:
                    self._value(each, target, versions)

    def _tagged_list(self, each: Field, versions: Versions) -> None:
        """A list of structs is filled as a local, so that its type is known."""
        self.code.line(f"{local(each)}: {self.module.python_type(self.message, each)}")
        self._value(each, local(each), versions)
        self.code.line(f"item.{each.name} = {local(each)}")
