"""Import and export of topics and records, in the formats of docs/seeds.md."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pykbroker.http.api.route import Call, Text
from pykbroker.http.api.schemas import SEED, TEXT
from pykbroker.seeding.harvesting import TooMuch, harvest_slowly
from pykbroker.seeding.reading import read_bytes
from pykbroker.seeding.seed import BadSeed
from pykbroker.seeding.sowing import sow
from pykbroker.seeding.writing import text
from pykbroker.steered.refusal import Refusal, refusing

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering

#: Format of a seed to its media type.
_KINDS: Final = {
    "jsonl": "application/jsonl",
    "json": "application/json",
    "yaml": "application/yaml",
    "csv": "text/csv",
}
#: Media type to format: the above, and other names in use.
_FORMS: Final = {
    **{kind: form for form, kind in _KINDS.items()},
    "application/x-ndjson": "jsonl",
    "application/x-yaml": "yaml",
}
TAKES: Final = {kind: SEED if form == "json" else TEXT for kind, form in _FORMS.items()}
GIVES: Final = {kind: TAKES[kind] for kind in _KINDS.values()}
#: The largest seed in bytes.
LARGEST: Final = 16 * 1024 * 1024
#: An export can be imported again: in the same format it is about as large.
_MOST_BYTES: Final = 8 * 1024 * 1024

TOPIC: Final = {"topic": "the topic of lines and rows without a topic"}
WHICH: Final = {
    "topics": "comma-separated names; by default all but internal topics",
    "form": f"one of {', '.join(_KINDS)}; by default the first",
}


async def sown(steering: Steering, call: Call) -> dict[str, Any]:
    with refusing(400, BadSeed), refusing(415, ModuleNotFoundError):
        form = f".{_FORMS[call.kind]}"
        seed = await asyncio.to_thread(read_bytes, call.raw, form, "body", call.query.get("topic"))
    with refusing(409, BadSeed):
        done = await steering.outcome(sow(steering.cluster(), seed))
    return {"topics": done.topics, "records": done.records}


async def harvested(steering: Steering, call: Call) -> Text:
    form = call.query.get("form", "jsonl")
    if form not in _KINDS:
        raise Refusal(400, f"form is {form[:40]!r}; write one of {', '.join(_KINDS)}")
    names = [name for name in call.query.get("topics", "").split(",") if name]
    with refusing(404, LookupError), refusing(409, TooMuch):
        seed = await steering.outcome(harvest_slowly(steering.cluster(), names, _MOST_BYTES))
    with refusing(415, ModuleNotFoundError):
        return Text(_KINDS[form], await asyncio.to_thread(text, seed, f".{form}"))
