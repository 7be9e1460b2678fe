"""Compiles Protobuf schemas with the protoc of grpcio-tools."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from pykbroker.extras import install_hint
from pykbroker.lake.errors import LakeError, Missing
from pykbroker.lake.values.known_protos import KNOWN_PROTOS

#: protoc takes a fraction of a second of a processor; a stranger's schema ends here. It says something about each word that it does not
#: understand, of which so many bytes are read.
_LONGEST_S = 60.0
_LONGEST_CPU_S = 10
_MOST_SAID = 16 * 1024
#: Run with -P: a module of one of these names in the folder where the process stands is not meant.
_PROTOC = """import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1])))
from grpc_tools import protoc
sys.exit(protoc.main(["protoc", *sys.argv[2:]]))
"""


def compiled(file: str, folder: Path) -> bytes:
    """The FileDescriptorSet of a ``.proto`` file in ``folder`` and its imports. Raises LakeError with protoc's message, and Missing without
    grpcio-tools.
    """
    if find_spec("grpc_tools") is None:
        raise Missing(f"A .proto schema is compiled by grpcio-tools: {install_hint('schemas')}.")
    with tempfile.TemporaryDirectory(prefix="pykbroker-protoc-") as place:
        target, known = Path(place) / "schema.desc", Path(place) / "known"
        for name, text in (*KNOWN_PROTOS.items(), *_types_of_google()):
            _write(known / name, text)
        with subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-c", _PROTOC, str(_LONGEST_CPU_S), f"--proto_path={folder}", f"--proto_path={known}",
             f"--proto_path={_included()}", "--include_imports", f"--descriptor_set_out={target}", file],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stderr is not None, "it is a pipe"
            late = threading.Timer(_LONGEST_S, process.kill)
            late.start()
            try:
                said = process.stderr.read(_MOST_SAID)
                if len(said) == _MOST_SAID:
                    process.terminate()
                code = process.wait()
            finally:
                late.cancel()
        if code in (-signal.SIGKILL, -signal.SIGXCPU):
            raise LakeError(f"protoc takes more than {_LONGEST_CPU_S} seconds for {file}")
        if code:
            told = said.decode(errors="replace").replace(f"{folder}/", "").strip()
            raise LakeError(f"protoc refused {file}: {told}")
        return target.read_bytes()


def compiled_texts(main: str, others: Mapping[str, str]) -> bytes:
    """The FileDescriptorSet of a schema's text. ``others`` are the texts of its imports, by name. Raises as ``compiled``."""
    with tempfile.TemporaryDirectory(prefix="pykbroker-protoc-") as place:
        folder = Path(place)
        for name, text in {**others, "pykbroker_value.proto": main}.items():
            path = (folder / name).resolve()
            if not path.is_relative_to(folder.resolve()):
                raise LakeError(f"A Protobuf schema is imported under the name {name!r}, which is no path to a file.")
            _write(path, text)
        return compiled("pykbroker_value.proto", folder)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _types_of_google() -> Iterator[tuple[str, str]]:
    """Google's common types, such as Money's, where googleapis-common-protos is installed."""
    spec = find_spec("google.type")
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in Path(folder).glob("*.proto"):
            yield f"google/type/{path.name}", path.read_text()


def _included() -> Path:
    """The folder of Google's own schemas, such as Timestamp's."""
    spec = find_spec("grpc_tools")
    assert spec is not None, "compiled has checked it"
    assert spec.origin is not None, "it is a package"
    return Path(spec.origin).parent / "_proto"
