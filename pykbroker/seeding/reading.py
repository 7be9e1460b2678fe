"""Reads seeds from files, folders and Python objects. The extension is the format: .yaml, .json, .jsonl, .csv."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from pykbroker.seeding import csv_rows, json_text, parsing
from pykbroker.seeding.seed import At, BadSeed, Misfit, Path, Seed

if TYPE_CHECKING:
    from pykbroker.seeding.yaml_text import YamlText

#: A seed as a path, or as the object that a document would contain.
Seedable = str | os.PathLike[str] | Mapping[str, Any]


def read(given: Seedable) -> Seed:
    """Return the seed. Raises BadSeed with the place of an error, and OSError for a file that cannot be read."""
    if isinstance(given, Mapping):
        source = _Given()
        try:
            return _by_schemas(parsing.document(dict(given), source))
        except Misfit as misfit:
            raise BadSeed(At(source, misfit.path), misfit.why) from misfit
    path = File(given)
    return _by_schemas(_folder(path) if path.is_dir() else _file(path))


def _by_schemas(seed: Seed) -> Seed:
    """The seed with the records of its schemas, and what is to be written by them written. Raises BadSeed."""
    if seed.schemas or any(record.by_schema for record in seed.records):
        import_module("pykbroker.registry.seeds").write(seed)
    return seed


def _folder(folder: File) -> Seed:
    """Read all files in a folder, by name; hidden ones are ignored."""
    seed = Seed()
    for path in sorted(folder.iterdir()):
        if not path.name.startswith("."):
            seed.add(_file(path))
    return seed


def _file(path: File) -> Seed:
    form = _FORMS.get(path.suffix.lower())
    if form is None:
        raise BadSeed(str(path), f"its name says no form; let it end with one of {', '.join(_FORMS)}")
    return _said(form, path.read_bytes(), str(path), path.stem)


def read_bytes(raw: bytes, form: str, name: str, topic: str | None = None) -> Seed:
    """Return the seed in some bytes; ``form`` is the format as a file extension.

    Errors begin with ``name``, line and column; ``topic`` is that of lines or rows that name none. Raises BadSeed.
    """
    return _by_schemas(_said(_FORMS[form], raw, name, topic))


def _said(form: Callable[[str, str, str | None], _Text], raw: bytes, name: str, topic: str | None) -> Seed:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadSeed(name, f"byte {error.start} is not UTF-8; bytes are written as base64 in value_base64") from error
    source = form(name, text, topic)
    try:
        return source.read()
    except Misfit as misfit:
        at = At(source, misfit.path) if misfit.mark is None else ":".join(map(str, (name, *misfit.mark)))
        raise BadSeed(at, misfit.why) from misfit


class _Given:
    """A Python object as a source."""

    def place(self, path: Path) -> str:
        return "seed" + "".join(f"[{step!r}]" for step in path)


class _Text:
    """A text as a source; ``topic`` is that of records that name none."""

    def __init__(self, name: str, text: str, topic: str | None) -> None:
        self.name = name
        self.text = text
        self.topic = topic

    def read(self) -> Seed:
        """Return the seed. Raises Misfit."""
        raise NotImplementedError

    def place(self, path: Path) -> str:
        raise NotImplementedError


class _Json(_Text):
    def read(self) -> Seed:
        if not self.text.strip():
            raise Misfit((), f"the file is empty; write an object such as {parsing.EXAMPLE}")
        return parsing.document(json_text.parse(self.text), self)

    def place(self, path: Path) -> str:
        line, column = json_text.line_and_column(self.text, path)
        return f"{self.name}:{line}:{column}"


class _Yaml(_Text):
    def __init__(self, name: str, text: str, topic: str | None) -> None:
        super().__init__(name, text, topic)
        self._parsed: YamlText | None = None

    def read(self) -> Seed:
        from pykbroker.seeding.yaml_text import YamlText

        self._parsed = YamlText(self.text)
        return parsing.document(self._parsed.value(), self)

    def place(self, path: Path) -> str:
        if self._parsed is None:
            return self.name
        line, column = self._parsed.line_and_column(path)
        return f"{self.name}:{line}:{column}"


class _JsonLines(_Text):
    """A record per line, or a topic: an object with partitions, replication_factor or configs. Empty lines are ignored."""

    def read(self) -> Seed:
        seed = Seed()
        for number, line in self._lines():
            if line.strip():
                self._add(seed, number, line)
        return seed

    def _lines(self) -> Iterator[tuple[int, str]]:
        return enumerate(self.text.split("\n"), 1)

    def _add(self, seed: Seed, number: int, line: str) -> None:
        at = At(self, (number,))
        try:
            found = json_text.parse(line)
        except Misfit as misfit:
            raise Misfit(at.path, misfit.why, misfit.mark and (number, misfit.mark[1])) from misfit
        if parsing.is_topic(found):
            seed.add(Seed(topics=[parsing.single_topic(found, self.topic, at)]))
        else:
            seed.records.append(parsing.single_record(found, self.topic, at))

    def place(self, path: Path) -> str:
        number, *rest = path
        line = next(line for each, line in self._lines() if each == number)
        _, column = json_text.line_and_column(line, tuple(rest))
        return f"{self.name}:{number}:{column}"


class _Csv(_Text):
    def read(self) -> Seed:
        return Seed(
            records=[
                parsing.single_record(found, self.topic, At(self, (line,))) for line, found in csv_rows.read(self.text)
            ]
        )

    def place(self, path: Path) -> str:
        line, *rest = path
        return f"{self.name}:{line}" + (f", column {rest[0]}" if rest else "")


_FORMS: dict[str, Callable[[str, str, str | None], _Text]] = {
    **dict.fromkeys((".yaml", ".yml"), _Yaml),
    ".json": _Json,
    **dict.fromkeys((".jsonl", ".ndjson"), _JsonLines),
    ".csv": _Csv,
}
