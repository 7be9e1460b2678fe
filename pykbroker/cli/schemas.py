"""``pykbroker schemas``: subjects and schemas of a schema registry, the broker's own or another."""

from __future__ import annotations

import contextlib
import difflib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import Json
from pykbroker.cli.output import Output
from pykbroker.cli.schema_values import Registry
from pykbroker.client.errors import EXIT_FAILED, ClientError, UsageError
from pykbroker.client.registry_client import RegistryClient, no_registry
from pykbroker.registry_site import quoted

app = typer.Typer(help="List, show, register, check, compare and delete schemas of a registry.", no_args_is_help=True)

Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=0.1, help="How long to wait for an answer.")
]
Subject = Annotated[str, typer.Argument(help="The subject, as orders-value.")]
Version = Annotated[str, typer.Option("--version", "-v", help="The version, or latest.")]
File = Annotated[Path, typer.Argument(help="The file with the schema.")]
Type = Annotated[
    str | None, typer.Option("--type", help="AVRO, JSON or PROTOBUF; else by the file's name (.avsc, .json, .proto).")
]
Reference = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="NAME=SUBJECT:VERSION", help="A schema that it refers to; repeatable."),
]
Deleted = Annotated[bool, typer.Option("--deleted", help="Those that are deleted softly, too.")]
_TYPES = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}


@dataclass(frozen=True)
class RegistryOptions:
    """Which registry."""

    registry: Registry = "http://127.0.0.1:8081"
    timeout: Timeout = 30.0

    def client(self) -> RegistryClient:
        """Raises UsageError."""
        return RegistryClient(self.registry, self.timeout)


@dataclass(frozen=True)
class SchemaOptions:
    """How a file is to be read."""

    type: Type = None
    reference: Reference = None

    def body(self, file: Path) -> dict[str, Any]:
        """The request with the schema of a file. Raises UsageError and ClientError."""
        kind = (self.type or _TYPES.get(file.suffix, "")).upper()
        if kind not in _TYPES.values():
            raise UsageError(
                f"{file}: give --type AVRO, JSON or PROTOBUF, or a file whose name ends in {', '.join(_TYPES)}."
            )
        try:
            text = file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise ClientError(f"{file} cannot be read: {error}") from None
        return {"schema": text, "schemaType": kind, "references": [_reference(each) for each in self.reference or ()]}


def _reference(text: str) -> dict[str, Any]:
    name, equals, target = text.partition("=")
    subject, colon, version = target.rpartition(":")
    if not (name and equals and subject and colon and version.isascii() and version.isdecimal()):
        raise UsageError(f"{text!r} is no reference; write it as NAME=SUBJECT:VERSION.")
    return {"name": name, "subject": subject, "version": int(version)}


def _path(*steps: str) -> str:
    return "".join(f"/{quoted(each)}" for each in steps)


@app.command("list")
@with_option_values
def list_subjects(*, at: RegistryOptions, deleted: Deleted = False, as_json: Json = False) -> None:
    """List subjects, with the newest version of each."""
    out, more = Output(as_json=as_json), "&deleted=true" if deleted else ""
    found = at.client().ask("GET", f"/schemas?latestOnly=true{more}")
    rows = [
        {name: each.get(name) for name in ("subject", "version", "id")} | {"type": each.get("schemaType", "AVRO")}
        for each in (_typed(one, dict) for one in _typed(found, list))
    ]
    if out.as_json:
        out.json(rows)
    else:
        out.table({"subject": "SUBJECT", "version": "VERSION", "id": "ID", "type": "TYPE"}, rows)


@app.command()
@with_option_values
def show(subject: Subject, *, version: Version = "latest", at: RegistryOptions, as_json: Json = False) -> None:
    """Print the schema of a version."""
    out = Output(as_json=as_json)
    found = _typed(at.client().ask("GET", _path("subjects", subject, "versions", version)), dict)
    if out.as_json:
        out.json(found)
    else:
        for line in _lines(found):
            out.line(line)


@app.command()
@with_option_values
def register(
    subject: Subject, file: File, *, source: SchemaOptions, at: RegistryOptions, as_json: Json = False
) -> None:
    """Register a schema; print its id."""
    out = Output(as_json=as_json)
    found = _typed(at.client().ask("POST", _path("subjects", subject, "versions"), source.body(file)), dict)
    if out.as_json:
        out.json(found)
    else:
        out.line(f"{subject} has it with the id {found.get('id')}")


@app.command()
@with_option_values
def check(
    subject: Subject,
    file: File,
    *,
    version: Version = "latest",
    source: SchemaOptions,
    at: RegistryOptions,
    as_json: Json = False,
) -> None:
    """Check whether a schema is compatible with a version; the exit status is 1 if it is not."""
    out = Output(as_json=as_json)
    path = _path("compatibility", "subjects", subject, "versions", version)
    found = _typed(at.client().ask("POST", f"{path}?verbose=true", source.body(file)), dict)
    if out.as_json:
        out.json(found)
    else:
        out.line("compatible" if found.get("is_compatible") else "not compatible")
        for each in found.get("messages") or ():
            out.line(str(each))
    if not found.get("is_compatible"):
        raise typer.Exit(EXIT_FAILED)


@app.command()
@with_option_values
def diff(
    subject: Subject,
    before: Annotated[str, typer.Argument(help="A version.")],
    after: Annotated[str, typer.Argument(help="Another one.")] = "latest",
    *,
    at: RegistryOptions,
) -> None:
    """Compare two versions of a subject, line by line."""
    out, client = Output(as_json=False), at.client()

    def text(number: str) -> list[str]:
        return _lines(_typed(client.ask("GET", _path("subjects", subject, "versions", number)), dict))

    for line in difflib.unified_diff(
        text(before), text(after), f"{subject} {before}", f"{subject} {after}", lineterm=""
    ):
        out.line(line)


@app.command()
@with_option_values
def delete(
    subject: Subject,
    *,
    version: Annotated[str | None, typer.Option("--version", "-v", help="This version alone.")] = None,
    permanent: Annotated[bool, typer.Option("--permanent", help="For good, after it was deleted softly.")] = False,
    at: RegistryOptions,
    as_json: Json = False,
) -> None:
    """Delete a subject, or a version of it, softly or for good."""
    out = Output(as_json=as_json)
    path = _path("subjects", subject, *(() if version is None else ("versions", version)))
    found = at.client().ask("DELETE", f"{path}{'?permanent=true' if permanent else ''}")
    if out.as_json:
        out.json(found)
    else:
        numbers = found if isinstance(found, list) else [found]
        out.line(f"{subject}: deleted {', '.join(map(str, numbers))}{' for good' if permanent else ''}")


def _lines(found: dict[str, Any]) -> list[str]:
    """A schema's text; one in JSON is indented."""
    text = str(found.get("schema", ""))
    if found.get("schemaType", "AVRO") != "PROTOBUF":
        with contextlib.suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return text.splitlines()


def _typed(found: Any, kind: type) -> Any:
    if not isinstance(found, kind):
        raise no_registry()
    return found
