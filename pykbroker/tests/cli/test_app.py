"""Help, wrong command lines, and exit statuses."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from pykbroker import __version__
from pykbroker.cli.app import application
from pykbroker.tests.cli.conftest import Result

Run = Callable[..., Result]

_COMMANDS = [
    "serve",
    "topics",
    "groups",
    "produce",
    "consume",
    "dump",
    "offsets",
    "logdirs",
    "cluster",
    "configs",
    "transactions",
    "reassignments",
    "quotas",
    "client-metrics",
    "records",
    "brokers",
    "perf",
]


def test_help_names_every_command(run: Run) -> None:
    result = run("--help")
    assert result.status == 0
    for command in _COMMANDS:
        assert command in result.out


@pytest.mark.parametrize(
    "command",
    [
        ("topics",),
        ("topics", "create"),
        ("topics", "alter"),
        ("groups", "reset"),
        ("produce",),
        ("consume",),
        ("dump",),
    ],
)
def test_every_command_has_help(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command, "--help")
    assert result.status == 0
    assert "Usage:" in result.out


@pytest.mark.parametrize("command", [(), ("topics",), ("topics", "create"), ("produce",), ("consume",), ("dump",)])
def test_help_is_without_noise(run: Run, command: tuple[str, ...]) -> None:
    text = run(*command, "--help").out
    assert "<" not in text  # types
    assert "{" not in text
    assert "│" not in text
    for usage in ("HOST:PORT,...", "TOPIC...", "[TOPIC]...", "PATH...", "COMMAND [ARGS]..."):
        text = text.replace(usage, "")
    assert "..." not in text


def _built(command: Any) -> Any:
    """Its help, its parameters by all their names, and the same of the commands in it."""
    within = {name: _built(each) for name, each in getattr(command, "commands", {}).items()}
    return command.help, [(each.name, each.opts, getattr(each, "help", None)) for each in command.params], within


def test_a_command_alone_is_what_it_is_among_all() -> None:
    everything = typer.main.get_command(application()).commands
    alone = everything.keys() - {"serve", "check"}
    assert len(alone) > 15
    for name in alone:
        (only,) = typer.main.get_command(application(name)).commands.items()
        assert only[0] == name
        assert _built(only[1]) == _built(everything[name])


def test_a_command_imports_no_other() -> None:
    program = "import sys; from pykbroker.cli.app import main; main(['topics', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pykbroker.cli.topics" in done.stdout
    assert "pykbroker.cli.lake" not in done.stdout


def test_version(run: Run) -> None:
    assert run("--version").out == f"pykbroker {__version__}\n"


def test_the_changelog_begins_with_this_version() -> None:
    pages = Path(__file__).parents[3] / "docs"
    versions = re.findall(r"^## (\S+)", (pages / "changelog.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == __version__
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nonsense",), "nonsense"),
        (("topics", "create"), "TOPIC"),
        (("topics", "create", "t", "-p", "0"), "--partitions"),
        (("topics", "create", "t", "-c", "retention.ms"), "is not NAME=VALUE"),
        (("topics", "alter", "t"), "Nothing to change"),
        (("topics", "delete", "t"), "add --yes"),
        (("topics", "list", "-b", "nowhere:port"), "is not HOST:PORT"),
        (("topics", "list", "--bootstrap-server", "nowhere:port"), "is not HOST:PORT"),
        (("groups", "reset", "g", "-t", "t"), "Give exactly one of"),
        (("groups", "reset", "g", "-t", "t", "--to-latest", "--to-offset", "5"), "Give exactly one of"),
        (("groups", "reset", "g", "--to-latest"), "Say which topics"),
        (("groups", "reset", "g", "--to-latest", "--all-topics", "-t", "t"), "Say which topics"),
        (("produce", "t", "--key", "k", "-K", ":"), "not both"),
        (("produce", "t", "--json", "--key", "k"), "are in the lines"),
        (("produce", "t", "-z", "rar"), "rar"),
        (("consume", "t", "--end", "--last", "5"), "Give one of"),
        (("consume", "t", "--json", "-f", "%v"), "not both"),
        (("consume", "t", "-f", "%z"), "is not a field"),
        (("consume", "t", "-g", "g", "-p", "0"), "the group decides"),
        (("dump", "/no/such/file"), "does not exist"),
        (("consume",), "Name topics"),
        (("consume", "t", "--topic-regex", "t"), "Name topics"),
        (("consume", "--topic-regex", "("), "is not a regular expression"),
        (("consume", "t", "-o", "frog"), "is not a place in a partition"),
        (("consume", "t", "--until", "frog"), "is not a time"),
        (("consume", "t", "--until", "5", "--exit"), "not both"),
        (("consume", "t", "--filter", "frog=1"), "is not a filter"),
        (("consume", "t", "--hex", "--base64"), "Give one of --hex"),
        (("consume", "t", "--hex", "--json"), "Give one of --hex"),
        (("consume", "t", "--json", "--value-files", "d"), "not both"),
        (("topics", "list", "("), "is not a regular expression"),
        (("produce", "t", "--json", "--input", "hex"), "each line is a record"),
        (("produce", "t", "--file", "f", "-K", ":"), "each file is a value"),
        (("produce", "t", "--input", "octal"), "octal"),
        (("configs", "describe", "frog"), "frog"),
        (("configs", "describe", "topic"), "Say which one"),
        (("configs", "alter", "broker", "1"), "Nothing to change"),
        (("configs", "alter", "broker", "1", "--set", "name"), "is not NAME=VALUE"),
        (("offsets",), "TOPIC"),
        (("records", "delete", "t"), "--before"),
        (("records", "delete", "t", "--before", "5", "--before-time", "1h"), "one of them"),
        (("transactions", "abort"), "Give a transactional id"),
        (("transactions", "abort", "id", "-t", "t"), "Give a transactional id"),
        (("transactions", "abort", "-t", "t", "-p", "0"), "Give a transactional id"),
        (("transactions", "abort", "id"), "add --yes"),
        (("transactions", "list", "--longer-than", "frog"), "is not a duration"),
        (("quotas", "set", "--user", "a", "producer_byte_rate=fast"), "is not a number"),
        (("quotas", "set", "--user", "a", "--default-user", "producer_byte_rate=1"), "not both"),
        (("reassignments", "start", "t:0"), "is not TOPIC=BROKER"),
        (("reassignments", "start", "t:x=1"), "is not TOPIC or"),
        (("reassignments", "cancel"), "Say which moves"),
        (("reassignments", "cancel", "t", "--all"), "Say which moves"),
        (("perf", "produce", "t", "--records", "0"), "--records"),
    ],
)
def test_a_wrong_command_line_is_status_2(run: Run, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.status == 2
    assert said in result.err
    assert "Traceback" not in result.err


def test_no_broker_is_status_3(run: Run) -> None:
    result = run("topics", "list", "-b", "127.0.0.1:1", "--timeout", "2")
    assert result.status == 3
    assert result.err.startswith("error: Cannot connect to 127.0.0.1:1")


def test_the_broker_does_not_import_what_people_need() -> None:
    program = (
        "import sys, pykbroker.__main__, pykbroker.cli.serve;"
        "print([name for name in ('typer', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], []])
def test_help_without_the_packages_that_it_is_made_with(arguments: list[str]) -> None:
    program = "import sys; sys.modules['typer'] = sys.modules['rich'] = None; sys.argv[0] = 'pykbroker'; "
    program += "from pykbroker.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "serve  Run the broker" in done.stdout
    assert "need the package typer" in done.stdout
