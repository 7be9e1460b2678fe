"""Runs the bench of Spark's sources."""

from __future__ import annotations

import sys

from scripts.bench_lake_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.bench_lake_job.reading import main  # here, so that --help works without the packages

    sys.exit(main(given))
