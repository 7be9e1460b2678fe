"""What the HTTP side costs."""

from __future__ import annotations

import sys

from scripts.bench_http_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.bench_http_job.measure import main  # now: --help answers where nothing is installed

    sys.exit(main(given))
