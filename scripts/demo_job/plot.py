"""The plot at the end: the year by day, by hour and by weather."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import matplotlib as mpl

from scripts.demo_job.data import AIRPORTS, NEW_YORK, Hours, Totals
from scripts.demo_job.report import weather

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

mpl.use("agg")  # no window, only a file

COLOURS = {"EWR": "#1b7f79", "JFK": "#c2572b", "LGA": "#5b4b9a"}
INK, FAINT = "#222222", "#888888"
FIRST_HOUR, LAST_HOUR = 5, 23  # local time; there are no flights in between
DEEPEST = 90  # minutes; longer mean delays have the same colour
DAYS = 365
STYLE: Any = {
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "xtick.color": FAINT,
    "ytick.color": FAINT,
}
Group = TypeVar("Group", bound=Hashable)
Place = tuple[int, str]


def draw(hours: Hours, file: Path) -> None:
    """Draw the year into a PNG file."""
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(15, 13), dpi=110, facecolor="white", layout="constrained")
        grid = figure.add_gridspec(5, 2, height_ratios=(1.5, 1, 1, 1, 1.4))
        _days(figure.add_subplot(grid[0, :]), hours)
        maps = [figure.add_subplot(grid[row, :]) for row in (1, 2, 3)]
        for axes, origin in zip(maps, AIRPORTS, strict=True):
            image = _heat_map(axes, hours, origin)
        bar = figure.colorbar(image, ax=maps, pad=0.01, fraction=0.02, extend="max")
        bar.set_label("mean delay in minutes")
        _clock(figure.add_subplot(grid[4, 0]), hours)
        _weather(figure.add_subplot(grid[4, 1]), hours)
        _headline(figure, hours)
        figure.savefig(file)


def _headline(figure: Figure, hours: Hours) -> None:
    everything = _sum(hours, lambda _: "all")["all"]
    figure.suptitle(
        f"Leaving New York in 2013: {everything.flights:,} flights, {everything.mean_delay:.1f} minutes late on average, "
        f"{everything.flights - everything.departed:,} never left\n",
        x=0.01,
        ha="left",
        fontsize=16,
        linespacing=0.6,
        fontweight="bold",
    )


def _days(axes: Axes, hours: Hours) -> None:
    days = _sum(hours, lambda place: _local(place).timetuple().tm_yday)
    numbers = sorted(days)
    means = [days[day].mean_delay for day in numbers]
    lost = [100 * (days[day].flights - days[day].departed) / days[day].flights for day in numbers]
    axes.fill_between(numbers, means, color="#d9a441", alpha=0.5, linewidth=0)
    axes.plot(numbers, means, color="#a8720c", linewidth=1)
    axes.bar(numbers, [-share for share in lost], color="#7a1f2b", width=1)
    axes.axhline(0, color=FAINT, linewidth=0.8)
    for day, mean in _peaks(zip(numbers, means, strict=True)):
        _annotate(axes, day, mean, f"{_date(day)}\n{mean:.0f} min", 0)
    for day, share in _peaks(zip(numbers, lost, strict=True)):
        _annotate(axes, day, -share, f"{_date(day)}: {share:.0f} % cancelled", -6)
    axes.set_title("Each day: mean departure delay in minutes (up), cancelled flights in percent (down)")
    axes.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    axes.set_ylim(-max(lost) - 12, max(means) + 22)
    _months(axes)


def _peaks(days: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the three highest days, none within a week of a higher one."""
    found: list[tuple[int, float]] = []
    for day, height in sorted(days, key=lambda pair: pair[1], reverse=True):
        if all(abs(day - other) > 7 for other, _ in found):
            found.append((day, height))
    return found[:3]


def _annotate(axes: Axes, day: int, height: float, text: str, offset: int) -> None:
    """Add text beside a peak; on its left at the end of the year."""
    side = -1 if day > DAYS * 5 // 6 else 1
    place = (4 * side, offset)
    axes.annotate(
        text, (day, height), place, textcoords="offset points", fontsize=9, ha="left" if side > 0 else "right"
    )


def _heat_map(axes: Axes, hours: Hours, origin: str) -> AxesImage:
    image = [[float("nan")] * DAYS for _ in range(FIRST_HOUR, LAST_HOUR + 1)]
    for place, totals in hours.items():
        moment = _local(place)
        if place[1] == origin and FIRST_HOUR <= moment.hour <= LAST_HOUR and totals.departed:
            image[moment.hour - FIRST_HOUR][moment.timetuple().tm_yday - 1] = totals.mean_delay
    drawn = axes.imshow(
        image,
        aspect="auto",
        origin="lower",
        cmap="YlOrBr",
        vmin=0,
        vmax=DEEPEST,
        extent=(0.5, DAYS + 0.5, FIRST_HOUR - 0.5, LAST_HOUR + 0.5),
        interpolation="nearest",
    )
    axes.set_facecolor("#ececec")
    axes.set_title(f"{AIRPORTS[origin]} ({origin}): every hour of the year", color=COLOURS[origin])
    axes.set_yticks((6, 12, 18), ("6 h", "12 h", "18 h"))
    _months(axes)
    return drawn


def _months(axes: Axes) -> None:
    firsts = [datetime(2013, month, 1, tzinfo=NEW_YORK) for month in range(1, 13)]
    axes.set_xticks([first.timetuple().tm_yday for first in firsts], [f"{first:%b}" for first in firsts], ha="left")
    axes.set_xlim(0.5, DAYS + 0.5)


def _clock(axes: Axes, hours: Hours) -> None:
    for origin, name in AIRPORTS.items():
        here = {place: totals for place, totals in hours.items() if place[1] == origin}
        by_hour = _sum(here, lambda place: _local(place).hour)
        clock = [hour for hour in range(FIRST_HOUR, LAST_HOUR + 1) if hour in by_hour]
        means = [by_hour[hour].mean_delay for hour in clock]
        axes.plot(clock, means, color=COLOURS[origin], linewidth=2.2)
        axes.annotate(
            name, (clock[-1], means[-1]), (6, -3), textcoords="offset points", color=COLOURS[origin], fontweight="bold"
        )
    axes.set_title("Delays pile up through the day (minutes, by hour of departure)")
    axes.set_xticks(range(6, 24, 3), [f"{hour} h" for hour in range(6, 24, 3)])
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#e5e5e5")


def _weather(axes: Axes, hours: Hours) -> None:
    seen = weather()
    kinds: dict[str, Callable[[Place], str | None]] = {
        "rain": lambda place: _class(seen, place, "precip", ((0, "none"), (0.05, "light"), (9, "heavy"))),
        "visibility (miles)": lambda place: _class(seen, place, "visib", ((2, "< 2"), (6, "2-6"), (99, "> 6"))),
        "wind (mph)": lambda place: _class(seen, place, "wind_speed", ((10, "< 10"), (20, "10-20"), (999, "> 20"))),
    }
    order = ("none", "light", "heavy", "", "> 6", "2-6", "< 2", "", "< 10", "10-20", "> 20")
    found = {str(label): totals for kind in kinds.values() for label, totals in _sum(hours, kind).items() if label}
    for position, label in enumerate(order):
        if label in found:
            mean = found[label].mean_delay
            axes.bar(position, mean, color="#4a7fa8", width=0.75)
            axes.annotate(f"{mean:.0f}", (position, mean), (0, 3), textcoords="offset points", ha="center")
    axes.set_xticks(range(len(order)), order, fontsize=9)
    for start, kind in zip((1, 5, 9), kinds, strict=True):
        axes.annotate(
            kind,
            (start, 1),
            (0, 4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            color=FAINT,
        )
    axes.set_title("What the weather does (mean delay in minutes)\n")
    axes.tick_params(axis="x", length=0)
    axes.set_yticks([])
    axes.margins(y=0.12)


def _class(
    seen: dict[Place, dict[str, str | None]], place: Place, column: str, limits: tuple[tuple[float, str], ...]
) -> str | None:
    """Return the name of the first limit that the observation does not exceed; None if there is none."""
    text = seen.get(place, {}).get(column)
    return None if text is None else next(name for limit, name in limits if float(text) <= limit)


def _sum(hours: Hours, group: Callable[[Place], Group]) -> dict[Group, Totals]:
    found: dict[Group, Totals] = {}
    for place, totals in hours.items():
        found[group(place)] = found.get(group(place), Totals()) + totals
    return found


def _local(place: Place) -> datetime:
    return datetime.fromtimestamp(place[0] / 1000, NEW_YORK)


def _date(day: int) -> str:
    return datetime.strptime(f"2013 {day}", "%Y %j").strftime("%-d %b")
