"""What the service takes, refuses and shows, asked over HTTP."""

import json
import socket

import pytest

from bsjax.service import Limits
from bsjax.service.uploads import folder
from bsjax.submission import protection, queue
from bsjax.submission.accounts import account_of, add_account, revoke
from tests.service.conftest import Client, bearer, serving, zipped

HOSTILE = "<script>window.hacked=1</script>"


def said(answer):
    return json.loads(answer.data)


def no_files_left():
    return not [*folder().glob("*")]


def handed_in(client, token, name):
    answer = client.upload(token, zipped(f"model-{name}"), name)
    assert answer.status == 201, answer.data
    return said(answer)["id"]


@pytest.mark.slow
def test_an_upload_is_queued_once(client, tokens, store):
    first = client.upload(tokens["lab"], zipped("once"), "once")
    again = client.upload(tokens["lab"], zipped("once"), "once")
    assert first.status == again.status == 201 and said(first)["id"] == said(again)["id"]
    found = queue.submission(store, said(first)["id"])
    assert found.name == "once" and found.kinds == ("model",) and found.visibility == "private"
    assert [each["name"] for each in said(client.ask("GET", "/api/submissions", bearer(tokens["lab"])))][0] == "once"
    health = said(client.ask("GET", "/health"))
    assert health["status"] == "ok" and health["queue"]["received"] >= 1 and health["oldest_waiting"]
    assert no_files_left()


def test_what_is_too_large_is_refused(client, tokens):
    def parts():
        for _ in range(40):
            yield b"x" * (1 << 16)

    answer = client.upload(tokens["lab"], b"x" * (1 << 20) + b"x")
    assert answer.status == 413 and "an upload may have 1" in said(answer)["error"]
    try:
        assert client.upload(tokens["lab"], parts(), chunked=True).status == 413
    except Exception as error:  # it closes while we write
        assert "Connection" in type(error).__name__ or "Protocol" in type(error).__name__
    assert no_files_left()


def test_no_zip_is_refused_in_one_line_without_paths(client, tokens, home):
    answer = client.upload(tokens["lab"], b"no zip")
    assert answer.status == 400 and "\n" not in said(answer)["error"] and str(home) not in said(answer)["error"]
    assert client.upload(tokens["lab"], b"").status == 400
    assert no_files_left()


def raw(url, token, head, body=b""):
    """What is answered to bytes that no client would send."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as at:
        lines = ["POST /api/submissions HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", *head]
        at.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        got = b""
        while part := at.recv(1 << 16):
            got += part
            if b"\r\n\r\n" in got and got.endswith((b"}", b"requests")):
                break
        return int(got.split()[1]), got


@pytest.mark.parametrize(("length", "status"), [(10_000, 408), (5, 400), (1 << 40, 413)])
def test_a_length_that_lies_is_refused(url, tokens, length, status):
    got, answer = raw(url, tokens["lab"], [f"Content-Length: {length}"], b"x" * 100)
    assert got == status and b'{"error":' in answer
    assert no_files_left()


def test_tokens_cannot_be_guessed(url, tokens):
    client = Client(url, "192.0.2.66")
    assert [client.upload(f"guess-{n}", b"x").status for n in range(12)] == [401] * 10 + [429] * 2
    assert client.upload(tokens["lab"], b"x").status == 429 and client.sign_in(tokens["lab"]).status == 429
    assert Client(url, "192.0.2.67").sign_in(tokens["lab"]).status == 303


def test_uploads_of_an_account_are_limited(store, tokens):
    small = add_account(store, "small", limits={"bytes": 10, "uploads": 1})
    with serving(store, limits=Limits(uploads=2)) as url:
        client = Client(url)
        assert [client.upload(tokens["lab"], b"x").status for _ in range(3)] == [400, 400, 429]
        assert client.upload(tokens["other"], b"x").status == 400
        assert [client.upload(small, b"x" * 11).status, client.upload(small, b"x").status] == [413, 429]


def test_a_session_is_signed_in_and_out(client, tokens):
    assert client.ask("GET", "/submissions").headers["location"] == "/sign-in"
    answer = client.sign_in(tokens["lab"])
    cookie = answer.headers["set-cookie"].lower()
    assert answer.status == 303 and "httponly" in cookie and "samesite=strict" in cookie and "secure" not in cookie
    assert client.ask("GET", "/submissions").status == 200 and client.ask("GET", "/operator").status == 403
    fields = {"csrf": client.csrf("/submissions")}
    assert client.ask("POST", "/sign-out", fields=fields, encode_multipart=False).status == 303
    assert client.ask("GET", "/submissions").status == 303


def test_cookies_of_an_encrypted_service_are_sent_by_nothing_else(store):
    from starlette.testclient import TestClient

    from bsjax.service import service

    answer = TestClient(service(store, public_url="https://lab.org")).get("/sign-in")
    assert "secure" in answer.headers["set-cookie"] and "strict-transport-security" in answer.headers


def test_a_revoked_account_is_out_at_once(client, store):
    token = add_account(store, "gone")
    assert client.sign_in(token).status == 303 and client.ask("GET", "/submissions").status == 200
    revoke(store, "gone")
    assert client.ask("GET", "/submissions").status == 303 and client.upload(token, b"x").status == 401


def test_forms_of_other_pages_are_refused(client, tokens, store):
    one = handed_in(client, tokens["lab"], "forged")
    client.sign_in(tokens["lab"])
    own = (f"/submissions/{one}/{do}" for do in ("cancel", "publish"))
    for path in ("/sign-in", "/sign-out", "/submissions", *own):
        for fields in ({"token": tokens["lab"]}, {"csrf": "guessed"}):
            answer = client.ask("POST", path, fields=fields)
            assert answer.status == 403, path
    assert queue.submission(store, one).state == "received"
    # The cookie alone hands nothing in, as a page of somebody else may send it along.
    assert client.ask("POST", "/api/submissions", body=zipped("forged")).status == 401


def test_what_its_owner_does(client, tokens, store):
    one = handed_in(client, tokens["lab"], "own")
    client.sign_in(tokens["lab"])
    for action, state, visibility in (
        ("publish", "received", "public"),
        ("hide", "received", "private"),
        ("cancel", "cancelled", "private"),
        ("retry", "received", "private"),
    ):
        fields = {"csrf": client.csrf(f"/submissions/{one}")}
        assert client.ask("POST", f"/submissions/{one}/{action}", fields=fields).status == 303
        found = queue.submission(store, one)
        assert (found.state, found.visibility) == (state, visibility)
    fields = {"csrf": client.csrf(f"/submissions/{one}")}
    assert client.ask("POST", f"/submissions/{one}/retry", fields=fields).status == 409
    assert client.ask("POST", f"/submissions/{one}/accept", fields=fields).status == 403
    assert client.ask("POST", f"/submissions/{one}/explode", fields=fields).status == 404


def test_a_form_hands_in(client, tokens, store):
    client.sign_in(tokens["lab"])
    fields = {"csrf": client.csrf("/submissions"), "name": "by form", "file": ("model.zip", zipped("by-form"))}
    answer = client.ask("POST", "/submissions", fields=fields)
    assert answer.status == 303
    assert queue.submission(store, answer.headers["location"].split("/")[-1]).name == "by form"
    large = {**fields, "file": ("model.zip", b"x" * (2 << 20))}
    assert client.ask("POST", "/submissions", fields=large).status == 413
    assert no_files_left()


def test_submissions_of_others_are_not_there(client, tokens):
    one = handed_in(client, tokens["lab"], "of-lab")
    client.sign_in(tokens["other"])
    fields = {"csrf": client.csrf("/submissions")}
    for path in (f"/submissions/{one}", f"/api/submissions/{one}", f"/submissions/{one}/log/check"):
        assert client.ask("GET", path).status == 404
    assert client.ask("POST", f"/submissions/{one}/cancel", fields=fields).status == 404
    assert client.ask("GET", f"/api/submissions/{one[:8]}", bearer(tokens["lab"])).status == 404
    assert client.ask("GET", f"/api/submissions/{one}", bearer(tokens["op"])).status == 200


def run(store, one, log, upto):
    """Let a worker run the steps of a submission until it is at one, which has a log and a note of how far it is."""
    while True:
        step = queue.claim_next(store, "w", 60, submission_id=one)
        if step.name == upto:
            queue.append_log(store, step.id, log)
            queue.heartbeat(store, step.id, "w", 60, "SECRET note")
            return step
        queue.finish(store, step.id, "w")


def test_names_and_logs_do_no_harm(client, tokens, store):
    made = client.upload(tokens["lab"], zipped("harm-2"), "%3Cscript%3Ewindow.hacked=1%3C/script%3E%1b%5B2J")
    one = said(made)["id"]
    run(store, one, f"{HOSTILE}\n\x1b[31mred\u202e", "check")
    client.sign_in(tokens["lab"])
    page = client.ask("GET", f"/submissions/{one}").data.decode()
    assert "<script>window" not in page and "&lt;script&gt;window" in page and "\x1b" not in page
    assert "\\x1b[31mred\\u202e" in page and "<script>window" not in client.ask("GET", "/submissions").data.decode()
    answer = client.ask("GET", f"/submissions/{one}/log/check")
    assert answer.headers["content-type"].startswith("text/plain") and b"\x1b" not in answer.data


def test_polling_answers_what_is_new(client, tokens, store):
    one = handed_in(client, tokens["lab"], "polled")
    first = said(client.ask("GET", f"/api/submissions/{one}", bearer(tokens["lab"])))
    path = f"/api/submissions/{one}?after={first['after']}"
    assert said(client.ask("GET", path, bearer(tokens["lab"]))) == {"after": first["after"]}
    run(store, one, "a line\n", "check")
    new = said(client.ask("GET", path, bearer(tokens["lab"])))
    assert new["state"] == "running" and new["steps"][1]["log"] == "a line\n"


def test_the_log_of_private_stimuli_is_for_operators(client, tokens, store):
    one = handed_in(client, tokens["lab"], "hidden")
    run(store, one, "SECRET pixels", "private")
    paths = f"/api/submissions/{one}", f"/submissions/{one}", f"/submissions/{one}/log/private"
    protection.protect(store, "Doe2026.V4-pls", stimuli=True)
    try:
        client.sign_in(tokens["lab"])
        assert not any(b"SECRET" in client.ask("GET", path).data for path in paths)
        client.sign_in(tokens["op"])
        assert all(b"SECRET" in client.ask("GET", path).data for path in paths)
    finally:
        protection.unprotect(store, "Doe2026.V4-pls")


def test_an_operator_reviews(client, tokens, store):
    uploads = [client.upload(tokens["lab"], zipped("reviewed", text), "reviewed") for text in (b"first", b"second")]
    ids = [said(answer)["id"] for answer in uploads]
    step = run(store, ids[1], "", "check")
    queue.wait_for_review(store, step.id, "look", "w")
    client.sign_in(tokens["op"])
    assert b"reviewed" in client.ask("GET", "/operator").data
    page = client.ask("GET", f"/submissions/{ids[1]}").data.decode()
    assert "-first" in page and "+second" in page and "Send back" in page
    fields = {"csrf": client.csrf(f"/submissions/{ids[1]}"), "comment": "not yet"}
    assert client.ask("POST", f"/submissions/{ids[1]}/return", fields=fields, encode_multipart=False).status == 303
    assert queue.submission(store, ids[1]).reason == "check: sent back: not yet"


def test_headers_and_log(url, tokens, capfd, store):
    client = Client(url)
    answer = client.upload(tokens["lab"], b"x")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in client.ask("GET", "/board/").headers["content-security-policy"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bsjax.service.views.health", lambda store: 1 / 0)
        broken = client.ask("GET", "/health")
    assert broken.status == 500 and broken.headers["x-content-type-options"] == "nosniff"
    assert b"ZeroDivisionError" not in broken.data
    assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["referrer-policy"] == "no-referrer"
    printed = capfd.readouterr().out
    line = json.loads(next(line for line in printed.splitlines() if "/api/" in line))
    assert (line["method"], line["path"], line["status"], line["account"]) == ("POST", "/api/submissions", 400, "lab")
    assert tokens["lab"] not in printed and account_of(store, tokens["lab"]).name == "lab"
