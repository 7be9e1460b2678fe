"""``pykbroker lake profile``: statistics of a lake, as an HTML page."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from pykbroker.cli.lake_options import At, Conf, Jars, Master, checked_lake, checked_pattern, lake_errors, session
from pykbroker.cli.lake_progress import watched
from pykbroker.cli.options import Json
from pykbroker.cli.output import Output, counted
from pykbroker.cli.times import parse_when
from pykbroker.client.errors import ClientError
from pykbroker.lake import requirements
from pykbroker.runtime.clock import SystemClock


def profile(
    at: At,
    *,
    as_json: Json = False,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The page.")] = Path("profile.html"),
    topics: Annotated[str, typer.Option("--topics", metavar="REGEX", help="These alone.")] = ".*",
    since: Annotated[str | None, typer.Option("--since", metavar="WHEN", help="Records from this time on.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="WHEN", help="Records before this time.")] = None,
    top: Annotated[
        int, typer.Option("--top", min=1, max=100, metavar="N", help="Number of keys and gaps to show.")
    ] = 10,
    master: Master = None,
    conf: Conf = None,
    jars: Jars = None,
) -> None:
    """Draw volume over time, key skew, sizes, lateness, gaps and duplicates of each topic on one HTML page."""
    out = Output(as_json=as_json)
    checked_lake(at)
    checked_pattern(topics)
    with lake_errors():
        requirements.need_writable(to, "--to")
    now_ms = SystemClock().now_ms()
    since_ms, until_ms = (parse_when(each, now_ms) if each else None for each in (since, until))
    with lake_errors(), session(master, conf, jars, lake=at) as spark:
        from pykbroker.lake.lake import Lake
        from pykbroker.lake.profile.aggregation import ProfileOptions, measured
        from pykbroker.lake.profile.page import page
        from pykbroker.lake.row_counts import shortages

        with watched(spark, out):
            lake = Lake.open(spark, at)
            entry = lake.last_entry().chosen(topics)
            missing = shortages(lake, entry) if entry.partitions else []
            found = measured(lake, ProfileOptions(topics, since_ms, until_ms, top))
    for each in missing:
        out.remark(f"{each}; the page has only those.")
    made = datetime.fromtimestamp(now_ms / 1000, UTC)
    try:
        to.write_text(page(at, f"{made:%Y-%m-%d %H:%M}", found), encoding="utf-8")
    except OSError as error:
        raise ClientError(f"{to} cannot be written: {error.strerror}.") from None
    if as_json:
        out.json({"page": str(to), "topics": [each.as_json() for each in found]})
    else:
        out.line(f"{to}: {counted(len(found), 'topic')}, {sum(each.records for each in found):,} records")
