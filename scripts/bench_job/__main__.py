"""Apache Kafka and pykbroker under the same loads."""

from __future__ import annotations

import sys

from scripts.bench_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.bench_job.rounds import main  # now: --help answers where nothing is installed

    sys.exit(main(given))
