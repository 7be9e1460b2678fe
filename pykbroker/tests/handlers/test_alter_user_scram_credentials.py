"""AlterUserScramCredentials and DescribeUserScramCredentials."""

from __future__ import annotations

from pykbroker.wire.messages import alter_user_scram_credentials as scram
from pykbroker.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName


def test_credentials(broker):
    wanted = [scram.ScramCredentialUpsertion(user, 1, 4096, b"salt", b"salted") for user in ("a", "b", "b")]
    request = scram.AlterUserScramCredentialsRequest([scram.ScramCredentialDeletion("c", 2)], wanted)
    answer = broker.ask(request, 0)
    assert {r.user: (r.error_code, r.error_message) for r in answer.results} == {
        "a": (0, None),
        "b": (92, "A user credential cannot be altered twice in the same request"),
        "c": (91, "Attempt to delete a user credential that does not exist"),
    }
    asked = DescribeUserScramCredentialsRequest([UserName("a"), UserName("b")])
    found = broker.ask(asked, 0).results
    assert [(r.user, r.error_code, [(i.mechanism, i.iterations) for i in r.credential_infos]) for r in found] == [
        ("a", 0, [(1, 4096)]),
        ("b", 91, []),
    ]
    everybody = broker.ask(DescribeUserScramCredentialsRequest(None), 0)
    assert [result.user for result in everybody.results] == ["a"]


def test_credentials_that_cannot_be_kept(broker):
    wanted = [scram.ScramCredentialUpsertion("a", 1, 4096, b"salt", b"salted")]
    with broker.full_disk():
        answer = broker.ask(scram.AlterUserScramCredentialsRequest([], wanted), 0)
    assert [(result.user, result.error_code) for result in answer.results] == [("a", 56)]
    assert broker.image.scram == {}
