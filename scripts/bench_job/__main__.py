"""Runs the bench."""

from __future__ import annotations

import sys

from scripts.bench_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.bench_job.rounds import main  # here, so that --help works without the packages

    sys.exit(main(given))
