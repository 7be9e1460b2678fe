"""The Java client 4.4.0: producer, consumer, classic groups, transactions, admin.

The cases are in three Java files, one virtual machine each. The consumer protocol of KIP-848 is in ``compat_tests/groups``,
share groups are in ``test_share_groups.py``.
Left out: access lists, users, quotas, delegation tokens, reassignments.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.harness.java_cases import JavaCases, wanted_cases

_FOLDER = Path(__file__).parent
_CLIENTS = _FOLDER / "Clients.java"
_SETS = {
    file: JavaCases(_FOLDER / f"{file}.java", "kafka", helpers=(_CLIENTS,))
    for file in ("ProducerConsumerCases", "TransactionCases", "AdminCases")
}


@pytest.mark.parametrize(("file", "case"), [(file, case) for file, cases in _SETS.items() for case in cases.names])
def test_case(request, bootstrap, file, case):
    wanted = [name for name in wanted_cases(request) if name in _SETS[file].names]
    _SETS[file].check(case, bootstrap, wanted)
