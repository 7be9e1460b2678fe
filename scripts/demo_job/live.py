"""The display during the demo: the year's progress, the job behind it, and delays of airports as they are published."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.align import Align
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scripts.demo_job.board import DelayBoard
from scripts.demo_job.broker import DemoBroker
from scripts.demo_job.data import AIRPORTS, day_of
from scripts.demo_job.progress import watermark_ms
from scripts.demo_job.stream import DelayJob
from scripts.demo_job.topics import FlightPublisher

BLOCKS = " ▁▂▃▄▅▆▇█"
LINE_EVERY_S = 5.0  # when the output is not a terminal


class LiveView:
    """A panel redrawn in place on a terminal, else a line now and then. To be used as a context."""

    def __init__(
        self, console: Console, publisher: FlightPublisher, job: DelayJob, board: DelayBoard, broker: DemoBroker | None
    ) -> None:
        self.console = console
        self.publisher, self.job, self.board, self.broker = publisher, job, board, broker
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._next_line = 0.0

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
        if error is None:
            self.note(self._line())

    def note(self, text: str) -> None:
        """Add an event, which stays on the screen."""
        self.console.print(text, soft_wrap=True)

    def show(self) -> None:
        if self._live:
            self._live.update(self._panel())
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + LINE_EVERY_S
            self.console.print(self._line(), soft_wrap=True)

    def _line(self) -> str:
        published, total = self.publisher.published, len(self.publisher.flights)
        return (
            f"{day_of(self.publisher.time_ms)}: {published:,} of {total:,} flights published, "
            f"{self.job.flights_read('parquet'):,} read by Spark, {self.board.updates:,} updates on the board"
        )

    def _panel(self) -> Panel:
        body = Group(self._year(), Text(), self._queries(), Text(), self._airports())
        return Panel(body, title="A year of departures from New York", subtitle=self._broker(), padding=(1, 2))

    def _year(self) -> Table:
        published, total = self.publisher.published, len(self.publisher.flights)
        row = Table.grid(expand=True, padding=(0, 2))
        row.add_column(width=12)
        row.add_column(ratio=1)
        row.add_column(justify="right", width=28)
        bar = ProgressBar(total=total, completed=published, complete_style="cyan", finished_style="green")
        row.add_row(
            Text(day_of(self.publisher.time_ms), "bold"),
            Align(bar, vertical="middle"),
            f"{published:,} of {total:,} flights",
        )
        return row

    def _queries(self) -> Table:
        table = Table(box=None, expand=True, header_style="dim", padding=(0, 1))
        table.add_column("Spark writes to")
        for heading in ("batch", "flights read", "flights/s", "behind", "watermark", "open windows"):
            table.add_column(heading, justify="right")
        for name, label in (("parquet", "Parquet, each hour once"), ("topic", "topic, every change")):
            table.add_row(label, *self._query(name))
        return table

    def _query(self, name: str) -> tuple[str, ...]:
        report = self.job.report(name)
        if report is None:
            return ("starting", "", "", "", "", "")
        read = self.job.flights_read(name)
        watermark = watermark_ms(report)
        states = sum(operator["numRowsTotal"] for operator in report["stateOperators"])
        return (
            str(report["batchId"]),
            f"{read:,}",
            f"{report.get('processedRowsPerSecond', 0):,.0f}",
            f"{max(0, self.publisher.published - read):,}",
            day_of(watermark) if watermark else "",
            f"{states:,}",
        )

    def _airports(self) -> Table:
        table = Table(box=None, expand=True, header_style="dim", padding=(0, 1))
        table.add_column("from the topic delays")
        table.add_column("mean delay of each of the last 60 days")
        table.add_column("that day", justify="right")
        for code, name in AIRPORTS.items():
            days = self.board.daily_means(code)[-60:]
            line = Text("".join(map(_block, (mean for _, mean in days))), "yellow")
            table.add_row(f"{code} {name}", line, f"{days[-1][1]:+.0f} min" if days else "")
        return table

    def _broker(self) -> str:
        if self.broker is None:
            return "a broker of yours"
        killed = (
            f", killed {self.broker.kills} times"
            if self.broker.kills > 1
            else ", killed once"
            if self.broker.kills
            else ""
        )
        return f"pykbroker on {self.broker.bootstrap}, {self.broker.memory_mb():.0f} MB{killed}"


def _block(mean: float) -> str:
    """Return a bar of one character; a full one is an hour of delay."""
    return BLOCKS[round(min(max(mean, 0.0), 60.0) / 60 * (len(BLOCKS) - 1))]
