"""Both brokers compact the same data."""

from __future__ import annotations

import sys

from scripts.bench_compaction_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.bench_compaction_job.compactions import main  # now: --help answers where nothing is installed

    sys.exit(main(given))
