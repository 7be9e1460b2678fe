from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from pykbroker.cli.option_values import with_option_values


@dataclass(frozen=True)
class Window:
    size: Annotated[int, typer.Option("--size", "-s", min=1, help="How large.")] = 3
    names: Annotated[list[str] | None, typer.Option("--name", help="Some names.")] = None


@dataclass(frozen=True)
class Shown:
    as_json: Annotated[bool, typer.Option("--json")] = False


def command(word: Annotated[str, typer.Argument()], *, window: Window, loud: bool = False, shown: Shown) -> None:
    """Do it."""
    typer.echo(f"{word} {window} {loud} {shown}")


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ("w", "w Window(size=3, names=None) False Shown(as_json=False)"),
        ("w -s 5 --name a --name b --loud --json", "w Window(size=5, names=['a', 'b']) True Shown(as_json=True)"),
    ],
)
def test_options_arrive_as_values(words: str, printed: str) -> None:
    app = typer.Typer()
    app.command()(with_option_values(command))
    assert CliRunner().invoke(app, words.split()).stdout.strip() == printed


def test_what_typer_checks_and_lists_is_as_of_parameters() -> None:
    app = typer.Typer()
    app.command()(with_option_values(command))
    assert CliRunner().invoke(app, ["w", "--size", "0"]).exit_code == 2
    said = CliRunner().invoke(app, ["--help"]).stdout
    assert "Do it." in said
    assert "How large." in said
