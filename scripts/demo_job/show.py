"""The demo: a year of real flights through the broker and Spark, in about a minute."""

from __future__ import annotations

import argparse
import shutil
import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from scripts.demo_job import report
from scripts.demo_job.board import DelayBoard
from scripts.demo_job.broker import DemoBroker
from scripts.demo_job.data import DemoError, Hours, expected_hours, flights
from scripts.demo_job.live import LiveView
from scripts.demo_job.plot import draw
from scripts.demo_job.stream import DelayJob, start_session
from scripts.demo_job.topics import FlightPublisher, create_topics, publish_planes
from scripts.jars import JarsUnavailable

AFTER_THE_YEAR_S = 300.0  # for Spark to process what was published


def main(options: argparse.Namespace) -> int:
    console = Console(highlight=False)
    try:
        return run(options, console)
    except (DemoError, JarsUnavailable) as error:
        console.print(f"[red]{error}")
        return 1
    except KeyboardInterrupt:
        return 130


def run(options: argparse.Namespace, console: Console) -> int:
    """Run the whole demo; the exit status is 0 if the results equal the files."""
    folder: Path = options.out.resolve()
    _empty(folder, kept="delays.png" if options.lake else "profile.html")
    if options.lake:
        from scripts.demo_job.lake import run_lake

        return run_lake(options, console, folder)
    with ExitStack() as cleanup:
        broker, bootstrap = _broker(options, console, folder, cleanup)
        departures = flights(options.months)
        create_topics(bootstrap)
        console.print(
            f"{publish_planes(bootstrap):,} planes published to the compacted topic planes; Spark is starting"
        )
        spark = start_session(folder)
        cleanup.callback(spark.stop)
        publisher = FlightPublisher(bootstrap, departures, options.seconds * options.months / 12)
        job = DelayJob(spark, bootstrap, folder, publisher.closing_ms)
        board = DelayBoard(bootstrap)
        cleanup.callback(board.close)
        job.start()
        cleanup.callback(job.stop)
        publisher.start()
        cleanup.callback(publisher.stop)
        with LiveView(console, publisher, job, board, broker) as view:
            _follow(view, kill=options.kill)
        job.stop()
        board.catch_up()
        stored = report.stored_hours(spark, str(job.results))
        return _conclude(
            console, job, expected_hours(departures), {"Parquet": stored, "the topic delays": board.hours}, folder
        )


def _broker(
    options: argparse.Namespace, console: Console, folder: Path, cleanup: ExitStack
) -> tuple[DemoBroker | None, str]:
    """Return the demo's own broker, started, and its address; or none and the given address."""
    if options.bootstrap:
        return None, options.bootstrap
    broker = DemoBroker(folder / "broker")
    seconds = broker.start()
    cleanup.callback(broker.stop)
    console.print(f"pykbroker answers on {broker.bootstrap} after {seconds:.2f} s")
    return broker, broker.bootstrap


def _follow(view: LiveView, *, kill: bool) -> None:
    """Show the demo until both queries have processed all flights; kills the broker halfway on request."""
    publisher, job, broker = view.publisher, view.job, view.broker
    deadline = None
    ends: dict[str, int] | None = None
    while ends is None or not job.is_complete(ends):
        view.board.poll(0.2)
        job.tend()
        if job.follows:
            publisher.go_on()
        view.show()
        if publisher.failure is not None:
            raise publisher.failure
        if kill and broker is not None and not broker.kills and publisher.published * 2 >= len(publisher.flights):
            published = publisher.published
            broker.kill()
            seconds = broker.start()
            view.note(
                f"[red]broker killed (SIGKILL)[/] after {published:,} flights; it answers again after {seconds:.2f} s"
            )
        if publisher.finished and ends is None:
            ends = view.board.flight_ends()
            deadline = time.monotonic() + AFTER_THE_YEAR_S
        if deadline is not None and time.monotonic() > deadline:
            raise DemoError(
                f"Spark has not finished {AFTER_THE_YEAR_S:.0f} s after the last flight; its log is spark.log"
            )


def _conclude(console: Console, job: DelayJob, expected: Hours, results: dict[str, Hours], folder: Path) -> int:
    """Compare, print the table and draw the plot."""
    stored = results["Parquet"]
    console.print(report.summary(stored))
    picture = folder / "delays.png"
    draw(stored, picture)
    console.print(f"The plot is in {picture}")
    if job.restarts:
        console.print(f"Queries restarted from their checkpoints: {job.restarts}")
    wrong = [f"{job.rows_too_late()} flights came too late for their window"] if job.rows_too_late() else []
    for name, hours in results.items():
        found = report.differences(expected, hours)
        wrong += [f"{name}: {line}" for line in found[:10]]
        if not found:
            count = report.total(hours).flights
            console.print(
                f"[green]{name}: {count:,} flights in {len(hours):,} hourly windows, equal to the CSV to the last flight"
            )
    for line in wrong:
        console.print(f"[red]{line}")
    return 1 if wrong else 0


def _empty(folder: Path, kept: str) -> None:
    """Empty the output folder, except for the file ``kept``, the result of the other demo. Raises DemoError if it has files that are not a
    demo's.
    """
    mark = folder / ".demo"
    if folder.exists() and any(folder.iterdir()) and not mark.exists():
        raise DemoError(f"{folder} is not empty and not from an earlier demo; name another with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    for each in folder.iterdir():
        if each.is_dir():
            shutil.rmtree(each, ignore_errors=True)
        elif each.name != kept:
            each.unlink()
    mark.touch()
