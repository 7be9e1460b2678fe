"""What a test pays for a broker."""

from __future__ import annotations

import sys

from scripts.bench_testing_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.bench_testing_job.measure import main  # now: --help answers where nothing is installed

    sys.exit(main(given))
