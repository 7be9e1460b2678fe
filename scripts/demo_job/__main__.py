"""The demo: a year of real flights through the broker and Spark, in about a minute."""

from __future__ import annotations

import sys

from scripts.demo_job.options import options

if __name__ == "__main__":
    given = options()
    from scripts.demo_job.show import main  # now: --help answers where nothing is installed

    sys.exit(main(given))
