"""Any order of requests: nobody is somebody without a good token of the mechanism that was agreed on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.security.sasl.conversation import (
    AuthenticationFailed,
    Conversation,
    Former,
    State,
    Unexpected,
    UnknownMechanism,
)
from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused


class Count:
    """A mechanism of a few rounds: the tokens are to be 1, 2, 3."""

    def __init__(self, name: str = "alice") -> None:
        self._name = name
        self._seen = 0
        self.result: Authenticated | None = None

    def evaluate(self, token: bytes) -> bytes:
        self._seen += 1
        if token != bytes([self._seen]):
            raise CredentialsRefused("a secret reason")
        if self._seen == 3:
            self.result = Authenticated(self._name)
        return token


def ours(former: Former | None = None) -> Conversation:
    return Conversation({"COUNT": Count, "OTHER": lambda: Count("other")}, former)


def test_in_order() -> None:
    talk = ours()
    talk.versions(good=False)
    talk.versions(good=True)
    talk.handshake(1, "COUNT")
    assert [talk.token(bytes([n])) for n in (1, 2, 3)] == [b"\1", b"\2", b"\3"]
    assert talk.result == Authenticated("alice")


def test_a_refusal_tells_nothing_that_the_mechanism_does_not_say_aloud() -> None:
    talk = ours()
    talk.handshake(1, "COUNT")
    with pytest.raises(AuthenticationFailed, match="a secret reason") as failed:
        talk.token(b"\7")
    assert (
        failed.value.client_message
        == "Authentication failed during authentication due to invalid credentials with SASL mechanism COUNT"
    )


def test_versions_may_come_once_and_first() -> None:
    talk = ours()
    talk.versions(good=True)
    with pytest.raises(Unexpected):
        talk.versions(good=True)
    talk.handshake(0, "COUNT")
    assert talk.state is State.RAW_TOKEN
    with pytest.raises(Unexpected):
        talk.versions(good=True)


def test_an_unknown_mechanism() -> None:
    with pytest.raises(UnknownMechanism, match="COUNT, OTHER"):
        ours().handshake(1, "count")


def test_who_was_somebody_stays_the_same_by_the_same_mechanism() -> None:
    again = ours(Former("User:alice", "COUNT"))
    with pytest.raises(Unexpected):
        again.versions(good=True)
    again.handshake(1, "COUNT")
    for n in (1, 2, 3):
        again.token(bytes([n]))
    assert again.result == Authenticated("alice")
    other = ours(Former("User:alice", "COUNT"))
    other.handshake(1, "OTHER")
    with pytest.raises(AuthenticationFailed, match="re-authentication of mechanism 'COUNT'") as failed:
        other.token(b"\1")
    assert failed.value.client_message is None
    bob = ours(Former("User:bob", "COUNT"))
    bob.handshake(1, "COUNT")
    bob.token(b"\1")
    bob.token(b"\2")
    with pytest.raises(AuthenticationFailed, match="Cannot change principals") as failed:
        bob.token(b"\3")
    assert failed.value.client_message == "Cannot change principals during re-authentication from User.bob: User.alice"
    assert bob.result is None


@given(
    st.lists(st.sampled_from(["versions", "bad versions", "COUNT", "OTHER", "none", "1", "2", "3", "x"]), max_size=12)
)
def test_nobody_is_somebody_otherwise(said: list[str]) -> None:
    talk = ours()
    good: list[str] = []
    for word in said:
        try:
            if word.endswith("versions"):
                talk.versions(good=word == "versions")
            elif len(word) > 1:
                talk.handshake(1, word)
                good = []
            elif talk.state is State.TOKEN:
                talk.token(b"?" if word == "x" else bytes([int(word)]))
                good.append(word)
        except AuthenticationFailed:
            return
        assert (talk.result is not None) == (good == ["1", "2", "3"])
        if talk.result is not None:
            return
