"""``scripts/drift VERSION``: see the module."""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from scripts.drift_job import schemas
from scripts.jars import JARS, POMS, ROOT, JarsUnavailable, classpath, jars
from scripts.wiregen.schema import load

_JAVA = Path(__file__).with_name("java")
_ERRORS = ROOT / "wire" / "tests" / "java" / "ErrorTable.java"
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def main() -> int:
    options = _options()
    sets = (_set_of(options.since), _set_of(options.version))
    print(f"What Apache Kafka {options.version} changes, beside {options.since}: - is gone, + is new.")
    for title, found in (*of_schemas(sets), *of_programs(sets)):
        _print(title, found)
    if not options.without_answers:
        from scripts.drift_job import answers

        _print("Answers to the oracle's questions", answers.lines(sets))
    return 0


def of_schemas(sets: tuple[str, str]) -> Iterator[tuple[str, list[str]]]:
    """The changes of messages and of records, of two sets of jars."""
    texts = [list(schemas.lines(load(jars(each)))) for each in sets]
    for title, kinds in (
        ("Messages", ("request", "response", "header")),
        ("Records", ("coordinator-key", "coordinator-value", "metadata", "data")),
    ):
        yield title, changes(*([line for line in text if line.startswith(kinds)] for text in texts))


def of_programs(sets: tuple[str, str]) -> Iterator[tuple[str, list[str]]]:
    """The changes of what Kafka's own classes say of themselves, of two sets of jars."""
    for title, program in (
        ("Errors", _ERRORS),
        ("Features", _JAVA / "Features.java"),
        ("Settings", _JAVA / "Settings.java"),
    ):
        yield title, changes(*(_printed(program, each) for each in sets))


def changes(before: Iterable[str], after: Iterable[str]) -> list[str]:
    """The lines of one text that the other lacks, with a sign, in the order of both."""
    compared = difflib.unified_diff(list(before), list(after), n=0, lineterm="")
    return [f"{line[0]} {line[1:]}" for line in list(compared)[2:] if line[0] in "-+"]


def _printed(program: Path, jar_set: str) -> list[str]:
    """What a program of Java prints with a set of jars."""
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath(jar_set), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{program.name} does not run with the jars of {jar_set}:\n{done.stderr[-2000:]}")
    return done.stdout.splitlines()


def _set_of(version: str) -> str:
    """The set of jars of a release: the tests' own, or one made from their pom without the tools, which may come weeks later."""
    pom = POMS / "kafka.xml"
    text = pom.read_text()
    (own,) = re.findall(r"<artifactId>kafka_2.13</artifactId><version>([\d.]+)</version>", text)
    if version == own:
        return "kafka"
    name = f"kafka-{version}"
    made = JARS / f"{name}.xml"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(re.sub(r"\n.*kafka-tools.*", "", text).replace(own, version))
    try:
        jars(name, made)
    except JarsUnavailable as error:
        raise SystemExit(str(error)) from error
    return name


def _print(title: str, found: Iterable[str]) -> None:
    print(f"\n{title}")
    nothing = True
    for line in found:
        nothing = False
        print(f"  {line}", flush=True)
    if nothing:
        print("  nothing")


def _options() -> argparse.Namespace:
    (own,) = re.findall(r"kafka_2.13</artifactId><version>([\d.]+)<", (POMS / "kafka.xml").read_text())
    parser = argparse.ArgumentParser(
        prog="scripts/drift",
        description="Print what a release of Apache Kafka changes: APIs, fields, records, errors, features, settings, and answers to "
        "the oracle's questions. It is read from jars, which Maven downloads, and from two running brokers.",
    )
    parser.add_argument("version", metavar="VERSION", help="the release, as 4.4.0")
    parser.add_argument("--since", default=own, help=f"the release to compare with (default: {own}, which is followed)")
    parser.add_argument("--without-answers", action="store_true", help="start no brokers")
    options = parser.parse_args()
    for each in (options.version, options.since):
        if not _VERSION.fullmatch(each):
            parser.error(f"{each!r} is no release; write three numbers, as 4.4.0")
    return options


if __name__ == "__main__":
    sys.exit(main())
