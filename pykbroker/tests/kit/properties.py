"""The settings of property tests: a run has the same examples as every other one, but a long one, which looks for new ones."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from pykbroker.tests.kit.depth import examples, is_long

#: How long examples take to be made is the machine's affair.
BUSY = (HealthCheck.too_slow,)


def load_profile() -> None:
    """Have Hypothesis draw the same examples in each run; ``--hypothesis-seed N``, or ``random``, has others."""
    settings.register_profile(
        "pykbroker",
        deadline=None,  # a busy machine is not a failure
        derandomize=not is_long(),
        max_examples=examples(100),
        print_blob=is_long(),
        suppress_health_check=BUSY,
    )
    settings.load_profile("pykbroker")
    # It would also draw what stands in modules of ours that are imported by then, and so by the tests before.
    providers._get_local_constants = lambda: providers._local_constants
