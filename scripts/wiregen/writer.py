"""Emits the functions that write a struct."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.wiregen.code import Code
from scripts.wiregen.module import LAYOUT, Module, element, function, local, needs_version
from scripts.wiregen.schema import Array, Field, MessageSchema, Nested, Scalar, StructSchema
from scripts.wiregen.segments import Segment, condition, conjoin, otherwise, prefix, segments, type_name
from scripts.wiregen.versions import Versions


@dataclass
class Writer:
    """Emits the writer of one struct in its flexible versions, or in the others."""

    module: Module
    message: MessageSchema
    struct: StructSchema
    versions: Versions
    flexible: bool
    code: Code
    out: str = "out"

    def emit(self) -> None:
        """Emit the function, and the one for known tagged fields if there are any."""
        cls = self.module.classes[self.message.name, self.struct.name]
        name = function(self.module, self.message, self.struct, "write", flexible=self.flexible)
        version = ", version: int" if needs_version(self.message, self.struct, flexible=self.flexible) else ""
        tagged = [each for each in self.struct.fields if each.tagged & self.versions] if self.flexible else []
        start = len(self.code.lines)
        with self.code.block(f"def {name}(out: bytearray, item: {cls}{version}) -> {self._returns()}:"):
            self._refuse_absent()
            for segment in segments(self.struct, self.versions, flexible=self.flexible):
                self._segment(segment)
            if self.flexible:
                self._tags_call(name, tagged, version.removesuffix(": int"))
            if len(self.code.lines) == start + 1:
                self.code.line("pass")
        if tagged:
            self._tags_function(name, cls, tagged, version)

    def _returns(self) -> str:
        """The annotation of what the function returns."""
        return "None"

    def _refuse_absent(self) -> None:
        """Refuse fields that no version of this domain has, if they have a value and are not ignorable."""
        for each in self.struct.fields:
            if not each.versions & self.versions:
                self._refuse(each)
        if not self.flexible and self.message.flexible & self.message.valid:
            with self.code.block("if item.unknown_tagged_fields:"):
                self.code.line(f'raise {self.module.use("cannot_carry")}("unknown_tagged_fields")')

    def _refuse(self, each: Field) -> None:
        if each.ignorable:
            return
        with self.code.block(f"if {self.module.differs(self.message, each, f'item.{each.name}')}:"):
            self.code.line(self.module.refuse("cannot_carry", each))

    def _segment(self, segment: Segment) -> None:
        pieces = segment.pieces(self.versions)
        tail = segment.tail
        with_tail = [piece for piece in pieces if segment.has_tail(piece.low)]
        together = len(with_tail) == 1
        if tail and not together and len(with_tail) == len(pieces):
            self._before(tail, self.versions)
        branches = []
        for piece in pieces:
            outer, self.code = self.code, Code()
            if tail and segment.has_tail(piece.low) and (together or len(with_tail) < len(pieces)):
                self._before(tail, piece)
            self._piece(segment, piece)
            if tail and together and segment.has_tail(piece.low):
                self._content(tail)
            branches.append((piece, self.code.lines))
            self.code = outer
        self._choose(branches)
        if tail and not together:
            with self.code.block(conjoin("if", condition(tail.plain, self.versions))):
                self._content(tail)

    def _choose(self, branches: list[tuple[Versions, list[str]]]) -> None:
        """Put the lines of each piece of the versions under its test; the pieces come highest first."""
        if len(branches) == 2 and not branches[0][1]:
            (high, _), (_, lines) = branches
            heads = [(f"if version < {high.low}:", lines)]
        else:
            if len(branches) > 1 and not branches[-1][1]:
                branches = branches[:-1]
            tests = [f"version >= {piece.low}:" if piece.low > self.versions.low else "" for piece, _ in branches]
            words = ["if ", *["elif "] * len(tests)]
            heads = [
                (word + test if test else "else:" if word == "elif " else "", lines)
                for word, test, (_, lines) in zip(words, tests, branches, strict=False)
            ]
        for head, lines in heads:
            with self.code.block(head if lines else ""):
                for line in lines or (["pass"] if head else []):
                    self.code.line(line)

    def _piece(self, segment: Segment, piece: Versions) -> None:
        """Write the fixed part of a segment for versions that share a layout."""
        present = segment.present(piece.low)
        values = [f"item.{each.name}" for each in present]
        types = [type_name(each) for each in present]
        absent: list[Field] = [each for each in segment.run if each not in present]
        tail = segment.tail
        if tail and not segment.has_tail(piece.low):
            absent.append(tail)
        for each in absent:
            self._refuse(each)
        self._fixed(values, types, tail if tail and segment.has_tail(piece.low) else None, tags=segment.tags)

    def _fixed(self, values: list[str], types: list[str], tail: Field | None, *, tags: bool) -> None:
        begin = prefix(tail, flexible=self.flexible) if tail else None
        if begin == "u8":
            assert tail
            if isinstance(tail.type, Nested):
                self.code.line(f"{self.out}.append(n)")
                return
            long = self.module.use("string_length" if tail.type == Scalar("string") else "uvarint")
            if types:
                fused = f"{self.module.pack([*types, 'u8'])}({', '.join([*values, 'n'])})"
                self.code.line(f"{self.out} += {fused} if n < 128 else {self._pack(types, values)} + {long}(n)")
                return
            with self.code.block("if n < 128:"):
                self.code.line(f"{self.out}.append(n)")
            with self.code.block("else:"):
                self.code.line(f"{self.out} += {long}(n)")
        elif begin:
            self.code.line(f"{self.out} += {self._pack([*types, begin], [*values, 'n'])}")
        elif tags and types:
            self.code.line(f"{self.out} += {self._pack([*types, 'zero'], values)}")
        elif tags:
            self.code.line(f"{self.out}.append(0)")
        elif types:
            self.code.line(f"{self.out} += {self._pack(types, values)}")

    def _pack(self, types: list[str], values: list[str]) -> str:
        return f"{self.module.pack(types)}({', '.join(values)})"

    def _before(self, each: Field, versions: Versions) -> None:
        """Compute the prefix of a variable-size value into ``n``, and the bytes of a string."""
        begin = prefix(each, flexible=self.flexible)
        if begin is None:
            return
        null = "0" if begin == "u8" else "-1"
        value = f"item.{each.name}"
        if not each.nullable & versions:
            if each.default is None or each.nullable:
                with self.code.block(f"if {value} is None:"):
                    self.code.line(self.module.refuse("null_refused", each))
            self._measure(each)
            return
        with self.code.block(f"if {value} is None:"):
            test = otherwise(each.nullable, versions)
            if test:
                with self.code.block(f"if {test}:"):
                    self.code.line(self.module.refuse("null_refused", each))
            self.code.line(f"n = {null}")
            if isinstance(each.type, Scalar) and each.type.name == "string":
                self.code.line(f'{local(each)} = b""')
        with self.code.block("else:"):
            self._measure(each)

    def _measure(self, each: Field) -> None:
        plus = " + 1" if self.flexible else ""
        value = f"item.{each.name}"
        if isinstance(each.type, Nested):
            self.code.line("n = 1")
        elif each.type == Scalar("string"):
            self.code.line(f"{local(each)} = {value}.encode()")
            self.code.line(f"n = len({local(each)}){plus}")
        elif each.type == Scalar("records"):
            self.code.line(f"n = {self.module.use('records_size')}({value}){plus}")
        else:
            self.code.line(f"n = len({value}){plus}")

    def _content(self, each: Field) -> None:
        """Write a variable-size value after its prefix."""
        value = f"item.{each.name}"
        maybe = bool(each.nullable) or each.default is None
        if each.type == Scalar("string"):
            self.code.line(f"{self.out} += {local(each)}")
            return
        if isinstance(each.type, Array) and isinstance(each.type.element, Nested):
            one = element(self.module.classes[self.message.name, each.type.element.name], self.struct)
            with self.code.block(f"for {one} in {value}{' or ()' if maybe else ''}:"):
                self.code.line(self._call(each.type.element.name, one))
            return
        with self.code.block(f"if {value} is not None:" if maybe else ""):
            if isinstance(each.type, Nested):
                self.code.line(self._call(each.type.name, value))
            elif isinstance(each.type, Array):
                self._scalars(each.type.element.name, value)
            elif each.type.name == "records":
                size = "n - 1" if self.flexible else "n"
                self.code.line(f"{self.module.use('write_records')}({self.out}, {value}, {size})")
            else:
                self.code.line(f"{self.out} += {value}")

    def _scalars(self, kind: str, value: str) -> None:
        if kind == "string":
            writer = self.module.use("write_compact_strings" if self.flexible else "write_strings")
            self.code.line(f"{writer}({self.out}, {value})")
        elif kind == "uuid":
            self.code.line(f"{self.module.use('write_uuids')}({self.out}, {value})")
        else:
            with self.code.block(f"if {value}:"):
                self.code.line(f'{self.module.use("write_numbers")}({self.out}, {value}, "{LAYOUT[kind][1]}")')

    def _call(self, name: str, value: str) -> str:
        struct = self.message.by_name[name]
        writer = function(self.module, self.message, struct, "write", flexible=self.flexible)
        version = ", version" if needs_version(self.message, struct, flexible=self.flexible) else ""
        return f"{writer}({self.out}, {value}{version})"

    # Tagged fields

    def _tags_call(self, name: str, tagged: list[Field], version: str) -> None:
        if not tagged:
            with self.code.block("if item.unknown_tagged_fields:"):
                self.code.line(f"{self.module.use('write_tags')}(out, {{}}, item.unknown_tagged_fields)")
            return
        tests = [self.module.differs(self.message, each, f"item.{each.name}") for each in tagged]
        with self.code.block(f"if {' or '.join([*tests, 'item.unknown_tagged_fields'])}:"):
            self.code.line(f"{name}_tags(out, item{version})")

    def _tags_function(self, name: str, cls: str, tagged: list[Field], version: str) -> None:
        self.code.line()
        self.code.line()
        with self.code.block(f"def {name}_tags(out: bytearray, item: {cls}{version}) -> None:"):
            self.code.line("known: dict[int, bytes] = {}")
            self.out = "value"
            for each in tagged:
                self._tag(each)
            self.out = "out"
            self.code.line(f"{self.module.use('write_tags')}(out, known, item.unknown_tagged_fields)")

    def _tag(self, each: Field) -> None:
        test = self.module.differs(self.message, each, f"item.{each.name}")
        if each.struct and not isinstance(each.type, Array) and not each.nullable:
            test += f" and item.{each.name} != {self.module.classes[self.message.name, each.struct]}()"
        here = condition(each.tagged, self.versions)
        if here and each.ignorable:
            test = f"{here} and {test}" if " or " not in test else f"{here} and ({test})"
        with self.code.block(f"if {test}:"):
            if here and not each.ignorable:
                with self.code.block(f"if {otherwise(each.tagged, self.versions)}:"):
                    self.code.line(self.module.refuse("cannot_carry", each))
            self.code.line("value = bytearray()")
            if each.fixed:
                self._fixed([f"item.{each.name}"], [type_name(each)], None, tags=False)
            else:
                self._before(each, each.tagged & self.versions)
                self._fixed([], [], each, tags=False)
                self._content(each)
            self.code.line(f"known[{each.tag}] = bytes(value)")
