"""Options of ``pykbroker chaos`` about the brokers that a program gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from pykbroker.cli.chaos_runs import LISTENERS, Program
from pykbroker.client.errors import UsageError
from pykbroker.config import unserved
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.faults.chaos import BadChaos, Chaos
from pykbroker.faults.chaos_catalogue import EVERYTHING, PROFILES
from pykbroker.faults.durations import milliseconds


@dataclass(frozen=True)
class BrokerOptions:
    """The brokers of each run, what befalls their clients, and how long a run may take."""

    brokers: Annotated[int, typer.Option("--brokers", min=1, max=9, help="How many brokers.")] = 3
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the brokers.")
    ] = None
    profile: Annotated[str, typer.Option("--profile", help=f"What befalls it: {', '.join(PROFILES)}.")] = EVERYTHING
    intensity: Annotated[float, typer.Option("--intensity", help="A factor of how often, up to 10.")] = 1.0
    quiet_after: Annotated[
        str | None,
        typer.Option("--quiet-after", metavar="DURATION", help="Nothing more befalls it from then on, as in 30s."),
    ] = None
    limit: Annotated[str, typer.Option("--limit", metavar="DURATION", help="The longest that a run may take.")] = "10m"

    def about_chaos(self) -> list[str]:
        """The options that were given about what befalls clients, which a tape says by itself."""
        said = {
            "--profile": self.profile != EVERYTHING,
            "--intensity": self.intensity != 1.0,
            "--quiet-after": self.quiet_after is not None,
        }
        return [name for name, is_given in said.items() if is_given]

    def chaos(self, seed: int) -> str:
        """The chaos of a seed, as ``serve --chaos`` takes it. Raises UsageError."""
        try:
            quiet = None if self.quiet_after is None else _duration("--quiet-after", self.quiet_after)
            return str(Chaos(seed, self.profile, self.intensity, quiet))
        except BadChaos as error:
            raise UsageError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error

    def program(self, words: list[str]) -> Program:
        """A program with these brokers. Raises UsageError."""
        given = dict(each.partition("=")[::2] for each in self.settings or [])
        if "" in given or any("=" not in each for each in self.settings or []):
            raise UsageError("--set takes NAME=VALUE.")
        try:
            unserved.check_known(BrokerConfig({**LISTENERS, **given}))
        except ConfigError as error:
            raise UsageError(f"--set: {error}") from error
        if not words[0]:
            raise UsageError("The program behind -- is an empty word: an empty variable of your shell?")
        return Program(tuple(words), given, self.brokers, _duration("--limit", self.limit) / 1000)


def _duration(option: str, text: str) -> int:
    try:
        return milliseconds(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}.") from error
