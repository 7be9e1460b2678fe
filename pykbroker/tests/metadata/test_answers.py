"""When two questions may have the same answer."""

from __future__ import annotations

from pykbroker.metadata.answers import question
from pykbroker.security.context import RequestContext
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


def asked(
    *names: str,
    version: int = 12,
    listener: str = "PLAINTEXT",
    principal: str = "User:ANONYMOUS",
    host: str = "10.0.0.1",
    with_host: bool = False,
) -> object:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=each) for each in names])
    asker = RequestContext(request.API_KEY, version, 1, "client", host, listener, principal)
    return question(request, asker, with_host=with_host)


def test_the_same_question_of_the_same_principal_has_one_answer() -> None:
    assert asked("t") == asked("t")


def test_what_one_principal_is_told_is_not_told_to_another() -> None:
    assert asked("t", principal="User:a") != asked("t", principal="User:b")


def test_where_the_asker_is_matters_where_access_lists_may_say_so() -> None:
    assert asked("t", host="10.0.0.2") == asked("t")
    assert asked("t", host="10.0.0.2", with_host=True) != asked("t", with_host=True)


def test_other_topics_versions_and_listeners_have_answers_of_their_own() -> None:
    questions = [asked("t"), asked("u"), asked("t", "u"), asked("t", version=11), asked("t", listener="OTHER")]
    assert len(set(questions)) == len(questions)
