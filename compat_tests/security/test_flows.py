"""Signing in, frame by frame, as Apache Kafka 4.4.0 and pykbroker see it; they must agree on every answer, close and delay."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from compat_tests.security.comparing import check_same
from compat_tests.security.delegation_flows import DELEGATION_FLOWS
from compat_tests.security.flows import FLOWS, Dialogue
from compat_tests.security.listeners import Listeners, SecuredKafka, SecuredPykbroker, certificates
from compat_tests.security.session_flows import SESSION_FLOWS
from compat_tests.security.token_flows import ISSUER, TOKEN_FLOWS
from compat_tests.security.users import add_users

#: Those that take longest first.
EVERY = (
    SESSION_FLOWS | DELEGATION_FLOWS | TOKEN_FLOWS | {name: ("SASL_PLAINTEXT", flow) for name, flow in FLOWS.items()}
)
Seen = dict[str, list[object]]
#: How often a flow that differs is tried alone, all of them together, and how long is waited then for an end.
ATTEMPTS, ALL_ATTEMPTS, PATIENCE_S = 5, 40, 10.0


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, Seen]:
    """Of both brokers, by flow: all run at once, for most of them wait.

    Where the two differ, or a flow did not come to its end, they are asked again, one flow after the other and with
    patience: what is seen is also whether something comes at once, late or never, and a machine that has much else to do
    makes everything late; a session then ends before the flow has used it.
    """
    folder = tmp_path_factory.mktemp("flows")
    files = certificates(folder, ISSUER)
    both = [Listeners(files), Listeners(files)]
    kinds = (SecuredKafka, SecuredPykbroker)
    brokers = [kind(folder / kind.name, listeners) for kind, listeners in zip(kinds, both, strict=True)]
    try:
        for broker in brokers:
            broker.start()
        kafka, ours = (_of_all(listeners) for listeners in both)
        left = ALL_ATTEMPTS
        for name in EVERY:
            for _ in range(min(ATTEMPTS, left)):
                if _same(name, kafka[name], ours[name]):
                    break
                left -= 1
                kafka[name], ours[name] = (_of(name, listeners, PATIENCE_S) for listeners in both)
    finally:
        for broker in brokers:
            broker.stop()
    return kafka, ours


def _of_all(listeners: Listeners) -> Seen:
    add_users(listeners.address("PLAINTEXT"))
    with ThreadPoolExecutor(40) as pool:
        return dict(zip(EVERY, pool.map(lambda name: _of(name, listeners), EVERY), strict=True))


def _of(name: str, listeners: Listeners, patience_s: float | None = None) -> list[object]:
    """What is seen; of a flow that does not come to its end, how it failed, which is like nothing that the other broker does."""
    listener, flow = EVERY[name]
    try:
        talk = Dialogue(listeners.address(listener))
        flow(talk)
        talk.end(patience_s)
    except Exception as failure:  # noqa: BLE001 - whatever a connection that is gone does to a flow
        return [_Unfinished(failure)]
    return talk.seen


@dataclass(frozen=True, eq=False)
class _Unfinished:
    """Equal to itself alone, so that a flow which fails beside both brokers is not the same."""

    failure: Exception


def _same(name: str, kafka: list[object], ours: list[object]) -> bool:
    there, here, _ = DIFFERENCES.get(name, ([], [], ""))
    ends = kafka[len(kafka) - len(there) :] == there and ours[len(ours) - len(here) :] == here
    return ends and kafka[: len(kafka) - len(there)] == ours[: len(ours) - len(here)]


_REFUSED = (
    "SaslAuthenticateResponse",
    (
        "{'error_code': 58, 'error_message': 'Authentication failed during authentication due to invalid credentials with SASL "
        "mechanism OAUTHBEARER', 'auth_bytes': b'', 'session_lifetime_ms': 0, 'unknown_tagged_fields': None}"
    ),
)
# fmt: off
#: What is otherwise here, at the end of a flow, and why.
DIFFERENCES = {
    "bearer_another_scheme": (
        ["closed", "closed"],
        [_REFUSED, "late", "closed"],
        "Apache Kafka fails over its own message for this, and so answers nothing.",
    ),
    "a_frame_that_is_too_large": (
        ["closed late"],
        ["closed"],
        "A frame that nobody could ever send in order is not worth a wait, during which its sender holds a connection.",
    ),
    "ProduceRequest_0_after_the_handshake": (
        ["closed"],
        [("ProduceResponse", "{'responses': [], 'throttle_time_ms': 0, 'node_endpoints': [], 'unknown_tagged_fields': None}"),
         "late", "closed"],
        "A producer that wants no answers gets one all the same before the connection ends; Apache Kafka fails over it.",
    ),
}
# fmt: on


@pytest.mark.parametrize("name", EVERY)
def test_same(seen: tuple[Seen, Seen], name: str) -> None:
    check_same(seen[0][name], seen[1][name], DIFFERENCES.get(name))
