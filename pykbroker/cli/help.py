"""The look of ``--help``: one plain line for each option, without Typer's types and frames."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

_ARGUMENTS, _OPTIONS = "Arguments", "Options"
_NO_PLACEHOLDER = "VALUE"


def with_plain_help(app: typer.Typer) -> None:
    """Give all commands of ``app`` and of its subcommands this help, except those with a help of their own."""
    app.rich_markup_mode = None
    app.info.cls = _Group
    for command in app.registered_commands:
        if command.cls in (None, TyperCommand):
            command.cls = _Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            with_plain_help(group.typer_instance)


class _Command(TyperCommand):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_options(self.get_params(ctx), formatter)


class _Group(TyperGroup):
    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_options(self.get_params(ctx), formatter)
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(command)) for name, command in commands if command])


def _write_options(params: Iterable[Any], formatter: Any) -> None:
    """Write arguments that have a help text, then options under their headings, those without a heading first."""
    panels: dict[str, list[tuple[str, str]]] = defaultdict(list)
    panels[_ARGUMENTS], panels[_OPTIONS] = [], []
    for param in params:
        if param.param_type_name == "argument":
            if param.help:
                panels[_ARGUMENTS].append((str(param.metavar or param.name), param.help))
        elif not param.hidden:
            panels[param.rich_help_panel or _OPTIONS].append((_names(param), _meaning(param)))
    for heading, rows in panels.items():
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)


def _summary(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


def _names(param: Any) -> str:
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag else f"{names} {_placeholder(param)}"


def _placeholder(param: Any) -> str:
    if param.metavar:
        return str(param.metavar)
    kind = getattr(param, "type", None) or getattr(param, "type_descriptor", None)  # older Typers, newer ones
    choices = getattr(kind, "choices", None)
    if choices:
        return "|".join(str(getattr(choice, "value", choice)) for choice in choices)
    return _NO_PLACEHOLDER


def _meaning(param: Any) -> str:
    extra = []
    if param.default not in (None, False) and not param.is_flag:
        extra.append(f"default {getattr(param.default, 'value', param.default)}")
    if param.envvar:
        extra.append(f"or {param.envvar} in the environment")
    help_text = param.help or ""
    return f"{help_text} [{', '.join(extra)}]" if extra else help_text
