"""Options of commands as values: a parameter whose class is a dataclass stands for one option per field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, get_type_hints

R = TypeVar("R")


def with_option_values(command: Callable[..., R]) -> Callable[..., R]:
    """Return ``command`` with the signature that Typer reads, in which fields stand in place of their dataclasses.

    Fields are annotated and have defaults as parameters of a command; parameters that are dataclasses are keywords.
    """
    hints = get_type_hints(command, include_extras=True)
    values = {name: kind for name, kind in hints.items() if is_dataclass(kind) and name != "return"}
    metavar: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        kind: Any = values.get(parameter.name)
        if kind is None:
            metavar.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        types = get_type_hints(kind, include_extras=True)
        metavar += [
            Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=types[each.name])
            for each in fields(kind)
        ]

    @wraps(command)
    def called(**given: Any) -> R:
        for name, kind in values.items():
            made: Any = kind
            given[name] = made(**{each.name: given.pop(each.name) for each in fields(made)})
        return command(**given)

    called.__signature__ = signature(command).replace(parameters=metavar)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in metavar}
    return called
