"""The pages for operators and for people at a terminal name all that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from pykbroker.cli.app import application
from pykbroker.cli.serve_options import parser
from pykbroker.config import unserved

DOCS = Path(__file__).parents[3] / "docs"
OPTIONS = sorted({name for action in parser()._actions for name in action.option_strings if name.startswith("--")})
COMMANDS = typer.main.get_command(application()).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("option", [option for option in OPTIONS if option != "--help"])
def test_every_option_of_serve_is_in_the_page_on_operating(option: str) -> None:
    assert re.search(rf"^\| .*`{option}\b", (DOCS / "operating.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize("setting", sorted(unserved._WITHOUT_EFFECT))
def test_every_setting_without_effect_is_in_the_page_on_operating(setting: str) -> None:
    assert f"`{setting}`" in (DOCS / "operating.md").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_page_on_commands_with_its_own(command: str) -> None:
    (row,) = re.findall(rf"^\| [^|]*`{command}`.* \|$", (DOCS / "commands.md").read_text(), re.MULTILINE)
    for name in getattr(COMMANDS[command], "commands", ()):
        assert f"`{name}`" in row
