"""Compiles Protobuf schemas with the protoc of grpcio-tools."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from pykbroker.extras import install_hint
from pykbroker.lake.errors import LakeError, Missing

#: protoc takes a fraction of a second; a stranger's schema ends here.
_LONGEST_S = 60.0


def compiled(file: str, folder: Path) -> bytes:
    """The FileDescriptorSet of a ``.proto`` file in ``folder`` and its imports. Raises LakeError with protoc's message, and Missing without
    grpcio-tools.
    """
    if find_spec("grpc_tools") is None:
        raise Missing(f"A .proto schema is compiled by grpcio-tools: {install_hint('schemas')}.")
    with tempfile.TemporaryDirectory(prefix="pykbroker-protoc-") as place:
        target = Path(place) / "schema.desc"
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={folder}", f"--proto_path={_included()}",
             "--include_imports", f"--descriptor_set_out={target}", file],
            capture_output=True, text=True, check=False, timeout=_LONGEST_S,
        )  # fmt: skip
        if done.returncode:
            raise LakeError(f"protoc refused {file}: {done.stderr.strip()}")
        return target.read_bytes()


def compiled_texts(main: str, others: Mapping[str, str]) -> bytes:
    """The FileDescriptorSet of a schema's text. ``others`` are the texts of its imports, by name. Raises as ``compiled``."""
    with tempfile.TemporaryDirectory(prefix="pykbroker-protoc-") as place:
        folder = Path(place)
        for name, text in {**others, "pykbroker_value.proto": main}.items():
            path = (folder / name).resolve()
            if not path.is_relative_to(folder.resolve()):
                raise LakeError(f"A Protobuf schema is imported under the name {name!r}, which is no path to a file.")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return compiled("pykbroker_value.proto", folder)


def _included() -> Path:
    """The folder of Google's own schemas, such as Timestamp's."""
    spec = find_spec("grpc_tools")
    assert spec is not None, "compiled has checked it"
    assert spec.origin is not None, "it is a package"
    return Path(spec.origin).parent / "_proto"
