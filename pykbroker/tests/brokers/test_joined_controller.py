"""What a controller in another process answers a broker, where it leaves out what it was asked for."""

from __future__ import annotations

from typing import Any

from pykbroker.brokers.joined_controller import JoinedController
from pykbroker.controller.config_alterations import Alteration
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.tests.quorum.test_remote_controller import Answers
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages import incremental_alter_configs as incremental
from pykbroker.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse


def joined(answer: Any) -> JoinedController:
    answers: Any = Answers(answer)
    return JoinedController(answers, answers, answers.runtime, answers, 1000)


def code(error: KafkaError | None) -> ErrorCode | None:
    return None if error is None else error.code


def test_topics_that_are_left_out_are_not_created() -> None:
    answer = CreateTopicsResponse(topics=[CreatableTopicResult(name="b"), CreatableTopicResult(name="c")])
    created = joined(answer).create_topics([NewTopic("a"), NewTopic("b")]).value.result
    assert [(each.name, code(each.error)) for each in created] == [
        ("a", ErrorCode.UNKNOWN_SERVER_ERROR),
        ("b", None),
    ]


def test_settings_that_are_left_out_are_not_altered() -> None:
    kind = TOPIC_RESOURCE
    answer = incremental.IncrementalAlterConfigsResponse(
        responses=[incremental.AlterConfigsResourceResponse(resource_type=kind, resource_name="b")]
    )
    altered = joined(answer).alter_configs([Alteration(kind, "a", []), Alteration(kind, "b", [])], broker_id=1)
    assert [code(each) for each in altered.value] == [ErrorCode.UNKNOWN_SERVER_ERROR, None]
