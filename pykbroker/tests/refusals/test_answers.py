"""An error stands where clients look for it, for every API that is served, in every version."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from pykbroker.handlers.table import SUPPORTED, ServedApi
from pykbroker.refusals import answers, shapes
from pykbroker.refusals.answers import PlacedRefusal, at_once
from pykbroker.tests.kit.messages import errors, in_version, request_in
from pykbroker.wire.apis import response_class
from pykbroker.wire.errors import ErrorCode, KafkaError

CODE = ErrorCode.REQUEST_TIMED_OUT
#: Handlers whose own refusal of a whole request stands elsewhere: as a whole, where ours is said of each part.
AS_A_WHOLE = {
    *("alter_partition_reassignments", "elect_leaders", "fetch", "leave_group", "offset_delete", "update_features"),
    *("add_partitions_to_txn", "describe_log_dirs", "describe_quorum"),
    *("share_fetch", "share_acknowledge", "alter_share_group_offsets", "delete_share_group_offsets"),
    "describe_share_group_offsets",
    # These say less of what they refuse: no name, and 0 for what there is not.
    *("describe_user_scram_credentials", "describe_transactions"),
}
EVERY = [(api, version) for api in SUPPORTED for version in range(api.min_version, api.max_version + 1)]


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "handler", str(value)))
def test_every_answer_says_the_error(api: ServedApi, version: int) -> None:
    request = request_in(api, version)
    refusal = PlacedRefusal(CODE)
    site = at_once(answers.site_for(refusal, request, version))
    if site is None:  # of such requests the handler alone knows what the answer is about
        assert api.handler == "describe_log_dirs"
        site = answers.deepest_site(request, version)
        answer = shapes.plain(response_class(api.key))
        answer.results.append(shapes.plain(shapes.element(type(answer), site.path)))
        at_once(answers.overwrite(answer, site, refusal))
    else:
        answer = at_once(answers.built(request, site, refusal))
    said = errors(in_version(answer, version))
    assert said
    assert {code for _, code in said} == {CODE}


@pytest.mark.parametrize(
    ("api", "version"),
    [
        (api, version)
        for api, version in EVERY
        if hasattr(importlib.import_module(f"pykbroker.handlers.{api.handler}"), "failed")
        and api.handler not in AS_A_WHOLE
    ],
    ids=lambda value: getattr(value, "handler", str(value)),
)
def test_it_stands_where_the_handler_itself_would_say_it(api: ServedApi, version: int) -> None:
    request = request_in(api, version)
    module = importlib.import_module(f"pykbroker.handlers.{api.handler}")
    theirs = errors(in_version(module.failed(request, version, KafkaError(CODE)), version))
    site = at_once(answers.site_for(PlacedRefusal(CODE), request, version))
    assert site is not None
    ours = errors(in_version(at_once(answers.built(request, site, PlacedRefusal(CODE))), version))
    assert set(ours) <= set(theirs)
    assert ours


@pytest.mark.parametrize(("api", "version"), EVERY, ids=lambda value: getattr(value, "handler", str(value)))
def test_what_is_taken_out_is_what_is_refused(api: ServedApi, version: int) -> None:
    request = request_in(api, version)

    def wanted(names: dict[str, Any]) -> bool:
        return names.get("partition") == 1

    if "partition" not in shapes.roles(type(request)):
        return
    refusal = PlacedRefusal(CODE, wanted=wanted)
    site = at_once(answers.site_for(refusal, request, version))
    if site is None or not site.path:
        return  # it is said of the request as a whole
    whole = at_once(answers.site_for(PlacedRefusal(CODE), request, version))
    assert whole is not None
    everything = errors(at_once(answers.built(request, whole, PlacedRefusal(CODE))))
    failed = at_once(answers.built(request, site, refusal))
    refused = errors(failed)
    assert refused
    assert at_once(answers.take_out(request, wanted))
    rest = at_once(answers.built(request, whole, PlacedRefusal(CODE)))
    assert not set(errors(rest)) & set(refused)
    at_once(answers.merge(rest, failed, site.path))
    assert set(errors(rest)) == set(everything)
