"""The same records by either source, one after the other."""

from __future__ import annotations

import sys

from scripts.bench_lake_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.bench_lake_job.reading import main  # now: --help answers where nothing is installed

    sys.exit(main(given))
