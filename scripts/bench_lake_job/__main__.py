"""Reads the same records with either source."""

from __future__ import annotations

import sys

from scripts.bench_lake_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.bench_lake_job.reading import main  # here, so that --help works without dependencies

    sys.exit(main(given))
