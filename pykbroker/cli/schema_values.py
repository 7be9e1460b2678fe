"""``consume --decode`` and ``produce --value-schema``: values by the schemas of a registry."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from pykbroker.cli.input_lines import BadLine
from pykbroker.cli.output import harmless
from pykbroker.cli.record_format import Formatter
from pykbroker.client.errors import ClientError, UsageError
from pykbroker.client.offsets import TopicPartition
from pykbroker.registry_site import quoted
from pykbroker.runtime.escaping import escaped
from pykbroker.wire.records import Record

if TYPE_CHECKING:
    from pykbroker.client.registry_client import RegistryClient
    from pykbroker.registry.values import SchemaValues

_TIMEOUT_S = 30.0
Encode = Callable[[bytes], bytes]

Registry = Annotated[
    str,
    typer.Option(
        "--registry",
        "-r",
        metavar="URL",
        envvar="PYKBROKER_SCHEMA_REGISTRY",
        help="The schema registry; its URL may have a user and a password.",
    ),
]


@dataclass(frozen=True)
class ValueDecodingOptions:
    """Whether values are decoded."""

    decode: Annotated[
        bool, typer.Option("--decode", help="Values as JSON, by the schema whose id each begins with.")
    ] = False
    registry: Registry = "http://127.0.0.1:8081"

    def formatter(self, undecoded: Formatter) -> Formatter:
        """Return a formatter that shows decoded values. It raises ClientError for a value that is not of its schema."""
        if not self.decode:
            return undecoded
        _, values = _values(self.registry)

        def decoded(partition: TopicPartition, record: Record) -> bytes:
            if record.value is None:
                return undecoded(partition, record)
            try:
                value = json.dumps(values.decode(record.value), default=_plain, ensure_ascii=False)
            except ValueError as error:
                where = f"{escaped(partition.topic)}-{partition.number}, offset {record.offset}"
                raise ClientError(f"{where}: {escaped(str(error)[:500])}.") from error
            return undecoded(partition, replace(record, value=value.encode("utf-8", "surrogatepass")))

        return decoded


@dataclass(frozen=True)
class ValueEncodingOptions:
    """The schema of what is written."""

    value_schema: Annotated[
        str | None,
        typer.Option(
            "--value-schema",
            metavar="SUBJECT[:VERSION]",
            help="Values are JSON, and written by this schema of a registry.",
        ),
    ] = None
    registry: Registry = "http://127.0.0.1:8081"

    def encoder(self) -> Encode | None:
        """Return what encodes a value, or None. It raises BadLine. Raises ClientError if there is no such schema."""
        if self.value_schema is None:
            return None
        subject, separator, version = self.value_schema.rpartition(":")
        if not separator or not (version == "latest" or version.isdecimal()):
            subject, version = self.value_schema, "latest"
        if not subject:
            raise UsageError("--value-schema wants SUBJECT or SUBJECT:VERSION.")
        from pykbroker.client.registry_client import no_registry

        client, values = _values(self.registry)
        found = client.ask("GET", f"/subjects/{quoted(subject)}/versions/{version}")
        number = found.get("id") if isinstance(found, dict) else None
        if not isinstance(number, int):
            raise no_registry()

        def encode(value: bytes) -> bytes:
            try:
                return values.encode(number, json.loads(value))
            except (ValueError, RecursionError) as error:
                raise BadLine(f"{escaped(str(error)[:500])}: {harmless(value)}") from error

        return encode


def _values(url: str) -> tuple[RegistryClient, SchemaValues]:
    from pykbroker.client.registry_client import RegistryClient
    from pykbroker.registry.values import of_registry

    client = RegistryClient(url, _TIMEOUT_S)
    return client, of_registry(client)


def _plain(value: object) -> str:
    """What JSON lacks: bytes as base64, times as ISO 8601."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    raise ValueError(f"there is no JSON for {type(value).__name__}")
