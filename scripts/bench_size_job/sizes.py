"""Builds the folders, measures, and prints the table."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from compat_tests.harness.process import ServerFailed
from scripts.bench_size_job.build import Form, build, fill_bytes, fill_partitions, fill_segments
from scripts.bench_size_job.measure import Measured, measure

_HEAD = (
    "| | start | memory | all logs open | memory then | descriptors | fetch, median | fetch, p99 | stop |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
)
_EXPLANATION = (
    "Start: from the call, after a clean shutdown, to the first answer. All logs open: one ListOffsets request for the end of every "
    "partition. Fetch: 4 KiB from a random offset of a random partition, {fetches:,} times, over one connection. "
    "The gigabytes are sparse files: sound batches from end to end, most of their bytes zeros that take no room."
)


def forms(*, quick: bool) -> list[Form]:
    """Return the dimensions; with ``quick`` small ones, as a test of the bench."""
    return [
        Form("{size:,} partitions", 10, 200 if quick else 10_000, fill_partitions, lambda size: size),
        Form("1 partition, {size:,} segments", 5, 100 if quick else 5_000, fill_segments, lambda _: 1),
        Form("1 partition, {size:,} GB", 1, 5 if quick else 300, fill_bytes, lambda _: 1),
    ]


def main(options: argparse.Namespace) -> int:
    rows: list[tuple[str, Measured]] = []
    try:
        with tempfile.TemporaryDirectory(prefix="pykbroker-size-", dir=options.folder) as folder:
            for number, form in enumerate(forms(quick=options.quick)):
                for size in (form.small, form.large):
                    measured = _one(Path(folder) / f"{number}-{size}", form, size, options)
                    rows.append((form.label(size), measured))
    except (ServerFailed, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print("\n".join([*_HEAD, *(_line(*row) for row in rows)]))
    print()
    print(_EXPLANATION.format(fetches=options.fetches))
    return 0


def _one(folder: Path, form: Form, size: int, options: argparse.Namespace) -> Measured:
    begun = time.perf_counter()
    build(folder / "data", form, size)
    built = time.perf_counter() - begun
    measured = measure(folder, form, size, options.fetches)
    shutil.rmtree(folder)
    print(f"{form.label(size)}: made in {built:.1f} s, start {measured.start_s:.2f} s", file=sys.stderr, flush=True)
    return measured


def _line(label: str, of: Measured) -> str:
    cells = [
        label,
        f"{of.start_s:.2f} s",
        f"{of.start_mb:.0f} MB",
        f"{of.open_s:.2f} s",
        f"{of.open_mb:.0f} MB",
        f"{of.descriptors:,}",
        f"{of.fetch_ms:.2f} ms",
        f"{of.fetch_p99_ms:.2f} ms",
        f"{of.stop_s:.2f} s",
    ]
    return f"| {' | '.join(cells)} |"
