"""Import and export of topics and records, in the formats of docs/seeds.md."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pykbroker.http.api.route import HttpCall, Text
from pykbroker.http.api.schemas import SEED, TEXT
from pykbroker.security.operations import CREATE, DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, TOPIC
from pykbroker.seeding.dumping import TooMuch, dump_in_slices
from pykbroker.seeding.loading import load_seed
from pykbroker.seeding.reading import read_bytes
from pykbroker.seeding.seed import BadSeed, Seed
from pykbroker.seeding.writing import text
from pykbroker.steered.refusal import VerbRefused, refusing

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.principal import HttpPrincipal
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
#: Topics whose rights are asked for in one turn.
_AT_ONCE: Final = 100
_LONGEST_NAME: Final = 249

OF_LINES: Final = {"topic": "the topic of lines and rows without a topic"}
WHICH: Final = {
    "topics": "comma-separated names; by default all but internal topics",
    "form": f"one of {', '.join(_KINDS)}; by default the first",
}


def _read(raw: bytes, form: str, topic: str | None) -> tuple[Seed, dict[str, bool]]:
    """Return a seed, and its topics with whether it writes to them: a thread's work. Raises BadSeed."""
    seed = read_bytes(raw, form, "body", topic)
    topics = dict.fromkeys((topic.name for topic in seed.topics), False)
    topics.update(dict.fromkeys((record.topic for record in seed.records), True))
    return seed, topics


async def _check_rights(cluster: Cluster, principal: HttpPrincipal, topics: dict[str, bool]) -> None:
    """Require the rights of CreateTopics and Produce, for all topics before any is created. Raises VerbRefused."""
    for number, (name, is_written) in enumerate(topics.items()):
        if is_written:
            principal.require(WRITE, TOPIC, name)
        is_known = name in cluster.metadata.image.topics and principal.may(DESCRIBE, TOPIC, name)
        if not is_known and not principal.may(CREATE, CLUSTER, CLUSTER_NAME):
            principal.require(CREATE, TOPIC, name)
        if not number % _AT_ONCE:
            await asyncio.sleep(0)


async def _readable(cluster: Cluster, principal: HttpPrincipal, named: list[str]) -> list[str]:
    """Return the topics to export: those that were named, or all that the asker may describe. Raises VerbRefused."""
    topics = cluster.metadata.image.topics
    found = []
    for number, name in enumerate(named or sorted(topics)):
        if named or (not name.startswith("__") and principal.may(DESCRIBE, TOPIC, name)):
            principal.require(READ, TOPIC, name)
            principal.require(DESCRIBE_CONFIGS, TOPIC, name)
            if name not in topics:
                raise VerbRefused(404, f"there is no topic {name[:_LONGEST_NAME]!r}")
            found.append(name)
        if not number % _AT_ONCE:
            await asyncio.sleep(0)
    return found


async def loaded(steering: Steering, call: HttpCall) -> dict[str, Any]:
    with refusing(400, BadSeed), refusing(415, ModuleNotFoundError):
        form = f".{_FORMS[call.kind]}"
        seed, topics = await asyncio.to_thread(_read, call.raw, form, call.query.get("topic"))
    await _check_rights(steering.cluster(), call.principal, topics)
    with refusing(409, BadSeed):
        done = await steering.outcome(load_seed(steering.cluster(), seed))
    return {"topics": done.topics, "records": done.records}


async def dumped(steering: Steering, call: HttpCall) -> Text:
    form = call.query.get("form", "jsonl")
    if form not in _KINDS:
        raise VerbRefused(400, f"form is {form[:40]!r}; write one of {', '.join(_KINDS)}")
    named = [name for name in call.query.get("topics", "").split(",") if name]
    names = await _readable(steering.cluster(), call.principal, named)
    with refusing(404, LookupError), refusing(409, TooMuch):
        seed = await steering.outcome(dump_in_slices(steering.cluster(), names, _MOST_BYTES)) if names else Seed()
    with refusing(415, ModuleNotFoundError):
        return Text(_KINDS[form], await asyncio.to_thread(text, seed, f".{form}"))
