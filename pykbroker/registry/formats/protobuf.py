"""Protobuf: compiled by protoc, in a process of its own; ``protobuf_diff.py`` compares the descriptors."""

from __future__ import annotations

import base64
import binascii
import subprocess
from collections.abc import Mapping
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.protoc import compiled_texts
from pykbroker.registry.formats.parsed import Budget, Incompatibility, Malformed
from pykbroker.registry.formats.protobuf_diff import compare
from pykbroker.registry.formats.protobuf_text import text_of

#: The name of the schema's own file in the set that protoc writes.
_OWN: Final = "pykbroker_value.proto"


class Protobuf:
    """A compiled schema. ``files`` are its file and those that it imports."""

    def __init__(self, files: Mapping[str, FileDescriptorProto], text: str) -> None:
        self._files = files
        self.text = text

    @property
    def serialized(self) -> str:
        """The descriptor of its own file, in base64."""
        return base64.b64encode(self._files[_OWN].SerializeToString()).decode()

    def cannot_read(self, writer: Protobuf) -> list[Incompatibility]:
        """See Parsed."""
        try:
            return compare(writer._files, self._files, _OWN, Budget())
        except RecursionError as error:
            raise Malformed("the schemas are nested too deep to be compared") from error


def parse(text: str, references: Mapping[str, str], *, normalize: bool = False) -> Protobuf:
    """Compile a ``.proto`` file, or a descriptor of one in base64; ``references`` are the texts of its imports, by name. Raises Malformed."""
    own = _written(text)
    try:
        found = FileDescriptorSet.FromString(
            compiled_texts(own, {name: _written(each) for name, each in references.items()})
        )
    except (LakeError, OSError, ValueError, subprocess.SubprocessError) as error:
        raise Malformed(str(error)[:1000]) from error
    files = {each.name: each for each in found.file}
    return Protobuf(files, text_of(files[_OWN]) if normalize else own)


def _written(text: str) -> str:
    """The text of a schema, which may be a descriptor in base64."""
    try:
        data = base64.b64decode(text, validate=True)
        file = FileDescriptorProto.FromString(data)
    except (binascii.Error, DecodeError, ValueError):
        return text
    return text_of(file)
