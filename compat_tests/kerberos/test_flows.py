"""Signing in with tickets, frame by frame, as Apache Kafka 4.4.0 and pykbroker see it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from compat_tests.kerberos.brokers import LISTENERS, Listeners, broker
from compat_tests.kerberos.flows import FLOWS, TIMES, Tickets
from compat_tests.security.comparing import check_same
from compat_tests.security.flows import Dialogue
from pykbroker.tests.kit.kerberos import Realm, needs_faketime, needs_kerberos

pytestmark = [needs_kerberos, needs_faketime]
Seen = dict[str, list[object]]
#: How long is waited for the end of a connection that was refused, on a machine that has other things to do.
_PATIENCE_S = 60


@pytest.fixture(scope="module")
def seen(realm: Realm, tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, Seen]:
    """Of both brokers, by flow."""
    tickets = {name: realm.ticket(name) for name in ("alice", "worker/host", "a/b/c")}
    folder = tmp_path_factory.mktemp("flows")
    for clock in TIMES:
        tickets[clock] = folder / clock
        tickets[clock].write_bytes(realm.first_token("traveller", clock))
    return tuple(_of(kind, folder, Listeners(realm), tickets) for kind in ("kafka", "pykbroker"))  # type: ignore[return-value]


def _of(kind, folder, listeners: Listeners, tickets: Tickets) -> Seen:
    server = broker(kind, folder, listeners)
    server.start()
    trusted = {name: listeners.authority if protocol == "SASL_SSL" else None for name, protocol in LISTENERS.items()}
    try:

        def run(name: str) -> list[object]:
            listener, flow = FLOWS[name]
            talk = Dialogue(listeners.address(listener), trusted[listener])
            try:
                flow(talk, tickets)
            except TimeoutError:
                talk.seen.append("no answer")
            talk.end(_PATIENCE_S if talk._refused else None)
            return ["closed" if what == "closed late" else what for what in talk.seen]

        with ThreadPoolExecutor(20) as pool:
            return dict(zip(FLOWS, pool.map(run, FLOWS), strict=True))
    finally:
        server.stop()


def _answered(error_code: int, message: str = "") -> tuple[str, str]:
    fields = {
        "error_code": error_code,
        "error_message": message,
        "auth_bytes": b"",
        "session_lifetime_ms": 0,
        "unknown_tagged_fields": None,
    }
    return "SaslAuthenticateResponse", repr(fields)


_REFUSED = [
    _answered(58, "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"),
    "late",
    "closed",
]
_NOBODY = "Apache Kafka says that all is well to who is nobody by the rules, and closes at the first request: a client tries on."
#: What is otherwise here, at the end of a flow, and why.
DIFFERENCES = {
    "a_name_of_three_parts": ([_answered(0), "closed"], _REFUSED, _NOBODY),
    "a_name_without_a_rule": ([_answered(0), "closed"], _REFUSED, _NOBODY),
    "last_word_too_short": (
        ["closed"],
        _REFUSED,
        "Java fails over the bytes that are not there, and so nothing is answered.",
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_same(seen: tuple[Seen, Seen], name: str) -> None:
    check_same(seen[0][name], seen[1][name], DIFFERENCES.get(name))
