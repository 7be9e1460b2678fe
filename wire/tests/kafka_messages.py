"""What the tests of messages share: every schema, objects with random content, and Kafka's own serialisers."""

from __future__ import annotations

import base64
import json
import random
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pykbroker.wire.message import Message, WireStruct
from pykbroker.wire.primitives import uuid_to_str
from scripts.jars import classpath, jars
from scripts.wiregen.output import module_path
from scripts.wiregen.schema import Array, Field, MessageSchema, Nested, Scalar, StructSchema, load

JAVA = Path(__file__).parent / "java"
LIMITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}


class Sample(NamedTuple):
    """A message as Kafka sees it: its bytes, and what they say as JSON."""

    name: str
    version: int
    data: bytes
    content: Any


@cache
def schemas() -> dict[str, MessageSchema]:
    """Every schema with a version and a generated class, by name."""
    return {each.name: each for each in load(jars("kafka")) if each.valid and each.kind != "header"}


def all_versions() -> list[tuple[str, int]]:
    """Every (message, version)."""
    return [(name, v) for name, each in schemas().items() for v in range(each.valid.low, each.valid.high + 1)]


def message_class(name: str) -> type[Message]:
    """The generated class of a schema."""
    module = module_path(schemas()[name]).removesuffix(".py").replace("/", ".")
    return getattr(import_module(f"pykbroker.wire.{module}"), name)


def encoded(message: Message, version: int) -> bytes:
    out = bytearray()
    message.encode(out, version)
    return bytes(out)


# Kafka's serialisers --------------------------------------------------------------------------------------------------


def written_by_kafka(versions: Iterable[tuple[str, int]], *, seed: int, samples: int) -> list[Sample]:
    """Messages with random content, made and written by Kafka."""
    lines = [f"{name}\t{version}" for name, version in versions]
    return [_sample(line) for line in run_java("Messages", lines, "write", str(seed), str(samples))]


def read_by_kafka(messages: Iterable[tuple[str, int, bytes]]) -> list[Sample]:
    """What Kafka reads in these bytes, and how it writes it again."""
    lines = [f"{name}\t{version}\t{base64.b64encode(data).decode()}" for name, version, data in messages]
    return [_sample(line) for line in run_java("Messages", lines, "read")]


def kafka_apis() -> list[list[str]]:
    """Kafka's own table of APIs, as lines of columns."""
    return [line.split("\t") for line in run_java("Apis", [])]


#: These programs are shorter than the work of the optimizing compiler.
_JAVA_OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def run_java(program: str, lines: list[str], *arguments: str) -> list[str]:
    """The output lines of one of the programs in ``java/``, given its input lines."""
    command = ["java", *_JAVA_OPTIONS, "-cp", classpath("kafka"), str(JAVA / f"{program}.java"), *arguments]
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split("\n")[:-1]


def _sample(line: str) -> Sample:
    name, version, data, content = line.split("\t", 3)
    assert data != "error", f"Kafka cannot read our {name} version {version}: {content}"
    return Sample(name, int(version), base64.b64decode(data), json.loads(content))


# Comparing our objects with Kafka's JSON ------------------------------------------------------------------------------


def assert_says(value: Any, content: Any, where: str) -> None:
    """Our value holds, name by name, what Kafka's JSON says; what the JSON lacks is at its default."""
    if isinstance(value, WireStruct):
        _assert_struct(value, content, where)
    elif isinstance(value, list):
        assert isinstance(content, list), where
        assert len(value) == len(content), where
        for index, (one, other) in enumerate(zip(value, content, strict=True)):
            assert_says(one, other, f"{where}[{index}]")
    elif isinstance(value, bytes):
        texts = [base64.b64encode(value).decode()] + ([uuid_to_str(value)] if len(value) == 16 else [])
        assert content in texts, where
    else:
        assert value == content, where


def _assert_struct(value: WireStruct, content: dict[str, Any], where: str) -> None:
    remaining = {key.lower(): each for key, each in content.items()}
    defaults = type(value)()
    for slot in value.__slots__:
        key = slot.replace("_", "")
        if slot.endswith("records") and remaining.get(key) == "":  # Kafka's JSON leaves the bytes of records out
            del remaining[key]
        elif key in remaining:
            assert_says(getattr(value, slot), remaining.pop(key), f"{where}.{slot}")
        elif slot != "unknown_tagged_fields":
            assert getattr(value, slot) == getattr(defaults, slot), f"{where}.{slot}"
    assert not remaining, where


# Random objects -------------------------------------------------------------------------------------------------------


def build(name: str, version: int, source: random.Random) -> Message:
    """A message with random content in every field that the version has."""
    message = schemas()[name]
    built = _struct(message, message.body, version, source)
    assert isinstance(built, Message)
    return built


def _struct(message: MessageSchema, struct: StructSchema, version: int, source: random.Random) -> WireStruct:
    module = import_module(message_class(message.name).__module__)
    cls = getattr(module, f"{message.name}{struct.name}", None) or getattr(module, struct.name)
    fields = {}
    for each in struct.fields:
        if version in each.versions and not (each.tagged and source.random() < 0.3):
            value = _value(message, each, version, source)
            if not isinstance(value, WireStruct) or value != type(value)():  # a default, once tagged, is not written
                fields[each.name] = value
    if version in message.flexible and source.random() < 0.2:
        fields["unknown_tagged_fields"] = {source.randrange(100, 90000): source.randbytes(source.randrange(200))}
    return cls(**fields)


def _value(message: MessageSchema, each: Field, version: int, source: random.Random) -> Any:
    if version in each.nullable and source.random() < 0.3:
        return None
    if isinstance(each.type, Array):
        size = source.choice([0, 1, 1, 2, 3, 140 if isinstance(each.type.element, Scalar) else 2])
        return [_one(message, each.type.element, version, source) for _ in range(size)]
    return _one(message, each.type, version, source)


def _one(message: MessageSchema, kind: Scalar | Nested, version: int, source: random.Random) -> Any:
    if isinstance(kind, Nested):
        return _struct(message, message.by_name[kind.name], version, source)
    if kind.name in LIMITS:
        bits = source.randrange(LIMITS[kind.name] + 1)
        return source.choice([-1, 0, 1]) * source.getrandbits(bits) - source.choice([0, 1])
    size = source.choice([0, 1, 5, 20, 126, 127, 128, 300])
    makers = {
        "bool": lambda: source.random() < 0.5,
        "uint16": lambda: source.getrandbits(16),
        "uint32": lambda: source.getrandbits(32),
        "float64": lambda: source.uniform(-1e9, 1e9),
        "uuid": lambda: source.randbytes(16),
        "string": lambda: "".join(source.choices("aZ0-_. é漢😀", k=size)),
        "bytes": lambda: source.randbytes(size),
        "records": lambda: source.randbytes(size),
    }
    return makers[kind.name]()


def plain_name(sample: Sample) -> str:
    """A name for a failed comparison."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", sample.name) + f" v{sample.version}"
