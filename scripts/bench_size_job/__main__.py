"""Small and large logs of the same form."""

from __future__ import annotations

import sys

from scripts.bench_size_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.bench_size_job.sizes import main  # now: --help answers where nothing is installed

    sys.exit(main(given))
