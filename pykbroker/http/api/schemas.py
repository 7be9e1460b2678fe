"""JSON schemas of requests and responses, as OpenAPI 3.1 has them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from pykbroker.faults.fault import Fault

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer"}
FLAG: Final[Schema] = {"type": "boolean"}
MAYBE_TEXT: Final[Schema] = {"type": ["string", "null"]}


def made(*optional: str, **properties: Schema) -> Schema:
    """Return the schema of an object with these properties only, all of which are required but the optional ones."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def many(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def _type_of(annotation: str) -> Schema:
    if "bool" in annotation:
        return FLAG
    if "float" in annotation:
        return {"type": "number"}
    return WHOLE if "int" in annotation else TEXT


#: The fields of a fault; durations are text, or milliseconds.
_WORDS: Final = {
    each.name: {"type": ["string", "number"]} if each.name in ("delay", "throttle") else _type_of(str(each.type))
    for each in fields(Fault)
}
NEW_FAULT: Final = made(*_WORDS, "text", text=TEXT, **_WORDS)
FAULT: Final = made(number=WHOLE, fault=made(*_WORDS, **_WORDS), matched=WHOLE, fired=WHOLE, text=TEXT)
FAULTS: Final = made(faults=many(FAULT))
CHAOS: Final = made(chaos=MAYBE_TEXT, befell=WHOLE, tape=many(TEXT))
NEW_CHAOS: Final = made("text", "tape", text=TEXT, tape=many(TEXT))
BROKERS: Final = made(brokers=many(made(id=WHOLE, state={"enum": ["running", "stopped"]}, address=TEXT, leads=WHOLE)))
CLOCK: Final = made(kind={"enum": ["real", "manual"]}, now_ms=WHOLE)
SNAPSHOTS: Final = made(snapshots=many(TEXT))
RECORDING: Final = made(recording=FLAG)
REQUESTS: Final = made(
    recording=FLAG,
    requests=many(
        made(
            api=TEXT,
            version=WHOLE,
            client_id=MAYBE_TEXT,
            client=TEXT,
            broker=WHOLE,
            correlation_id=WHOLE,
            topics=many(TEXT),
            at_ms=WHOLE,
            took_ms={"type": ["number", "null"]},
            error_codes=many(TEXT),
            refused=MAYBE_TEXT,
            path=MAYBE_TEXT,
            status={"type": ["integer", "null"]},
            text=TEXT,
        )
    ),
)
LOGGERS: Final = made(loggers={"type": "object", "additionalProperties": TEXT})
NOTHING: Final = made()
LOADED_SEED: Final = made(topics=WHOLE, records=WHOLE)
#: The content is parsed by pykbroker/seeding, whose errors have a line and column.
SEED: Final = made(topics={"type": "object"})
PROBLEM: Final = made(title=TEXT, status=WHOLE)
