"""``pykbroker chaos``: run a program in any language under chaos by many seeds, each with brokers of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Final

import typer

from pykbroker.cli.chaos_options import BrokerOptions
from pykbroker.cli.chaos_runs import Program, least_tape
from pykbroker.cli.option_values import with_option_values
from pykbroker.cli.options import Json
from pykbroker.cli.output import Output
from pykbroker.cli.signals import all_end_as_ctrl_c
from pykbroker.client.errors import EXIT_FAILED, ClientError, UsageError
from pykbroker.faults.chaos import BadChaos
from pykbroker.faults.chaos_tape import ChaosTape
from pykbroker.steered.chaos_at_start import taped

#: Defaults of options that say nothing about a tape.
SEEDS: Final = 20
FIRST: Final = 1
TAPES: Final = Path("chaos")


@with_option_values
def chaos(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="The program, behind --.")],
    *,
    of: BrokerOptions,
    seeds: Annotated[int, typer.Option("--seeds", "-n", min=1, max=100_000, help="How many seeds.")] = SEEDS,
    first: Annotated[int, typer.Option("--first", min=0, help="The first seed.")] = FIRST,
    tapes: Annotated[Path, typer.Option("--tapes", metavar="DIR", help="Where tapes and output are kept.")] = TAPES,
    replay: Annotated[Path | None, typer.Option("--replay", metavar="TAPE", help="Run once, by this tape.")] = None,
    shrink: Annotated[
        Path | None,
        typer.Option("--shrink", metavar="TAPE", help="Find the least part of this tape by which it fails."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a program under chaos: each seed does to it what Apache Kafka may do to a client. The exit status is 1 if a run failed.

    Each run has new brokers. Their address is in the variable KAFKA_BOOTSTRAP_SERVERS, and takes the place of {bootstrap} in the
    program's words. As in: pykbroker chaos --seeds 50 -- ./gradlew test
    """
    if replay is not None and shrink is not None:
        raise UsageError("--replay and --shrink are two things; choose one.")
    program = of.program(command)
    out = Output(as_json=as_json)
    if replay is not None or shrink is not None:
        ignored = [*of.about_chaos(), *_others({"--seeds": seeds != SEEDS, "--first": first != FIRST})]
        if replay is not None:
            ignored += _others({"--tapes": tapes != TAPES, "--json": as_json})
        if ignored:
            what = "--replay does" if replay is not None else "--shrink leaves out of"
            out.remark(f"{what} what is on the tape, whatever {' and '.join(ignored)} may say.")
    with all_end_as_ctrl_c():
        if shrink is not None:
            failed = _shrink(program, shrink, tapes, out)
        elif replay is not None:
            failed = _replay(program, replay, out)
        else:
            failed = _search(program, [of.chaos(seed) for seed in range(first, first + seeds)], tapes, out)
    if failed:
        raise typer.Exit(EXIT_FAILED)


def _others(given: dict[str, bool]) -> list[str]:
    return [name for name, is_given in given.items() if is_given]


def _search(program: Program, chaoses: list[str], tapes: Path, out: Output) -> bool:
    """Run by each seed; the tape and the output of what failed are kept. Returns whether anything did."""
    _make(tapes)
    failed = {}
    for words in chaoses:
        seed = words.split()[0]
        run = program.run(words, tapes / f"{seed}.tape", tapes / f"{seed}.out")
        out.remark(f"seed {seed}: {run}")
        if run.failed:
            failed[seed] = run
        else:
            run.forget()
    if out.as_json:
        out.json(
            {"seeds": len(chaoses), "failed": [{"seed": int(seed), **run.as_json()} for seed, run in failed.items()]}
        )
        return bool(failed)
    out.line(f"{len(failed)} of {len(chaoses)} seeds failed")
    for seed, run in failed.items():
        out.line(f"seed {seed}: {run}; output: {run.output}; again: pykbroker chaos --replay {run.tape} -- COMMAND")
    return bool(failed)


def _replay(program: Program, tape: Path, out: Output) -> bool:
    _tape(tape)
    with tempfile.TemporaryDirectory(prefix="pykbroker-chaos-") as folder:
        run = program.run(f"@{tape}", Path(folder, "tape"))
    out.remark(f"tape {tape}: {run}")
    return run.failed


def _shrink(program: Program, path: Path, tapes: Path, out: Output) -> bool:
    """Write the least tape by which the program fails beside the given one. Returns whether the program failed by that."""
    whole = _tape(path)
    _make(tapes)
    least = path.with_suffix(".least.tape")

    def fails(tape: ChaosTape) -> bool:
        least.write_text("\n".join(tape.lines()) + "\n", encoding="utf-8")
        run = program.run(f"@{least}", tapes / "shrinking.tape", tapes / "shrinking.out")
        out.remark(f"{len(tape.decisions)} of {len(whole.decisions)}: {run}")
        run.forget()
        return run.failed

    if not fails(whole):
        least.unlink()
        out.line(
            "The program passes by this tape: what it does is up to more than the tape; try again, or shrink another one."
        )
        return False
    found, runs = least_tape(whole, fails)
    least.write_text("\n".join(found.lines()) + "\n", encoding="utf-8")
    if out.as_json:
        out.json({"tape": str(least), "runs": runs, "decisions": [each.as_json() for each in found.decisions]})
        return True
    out.line(f"{len(found.decisions)} of {len(whole.decisions)} are enough, after {runs} runs: {least}")
    for each in found.decisions:
        out.line(f"  {each}")
    return True


def _tape(path: Path) -> ChaosTape:
    try:
        tape = taped(path).tape
    except BadChaos as error:
        raise ClientError(f"{error}.") from error
    assert tape is not None
    return tape


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ClientError(f"{folder} cannot be made: {error.strerror}.") from error
