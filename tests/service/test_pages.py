"""The pages in a browser: light, dark, on a phone; nothing is logged, axe-core finds nothing."""

import pytest

from bsjax.submission import protection, queue
from tests.service.conftest import CHROMIUM, Client, zipped

LOG = "1/12 doe-net on Simulated.V1-cka: 0.4312 (3.1 s)\n<b>no markup</b> \x1b[31m" + "a long line " * 30


@pytest.fixture(scope="module")
def pages(url, tokens, store):
    """The pages that there are, once something has been handed in."""
    client, ids = Client(url), {}
    for name in ("done", "failed", "running", "review"):
        content = zipped(f"model-{name}")
        answer = client.upload(tokens["lab"], content, f"{name} of a laboratory with a rather long name")
        ids[name] = answer.json()["id"]
    until = {"done": None, "failed": "check", "running": "public", "review": "check"}
    for name, end in until.items():
        while (step := queue.claim_next(store, "host:1234 worker", 60, submission_id=ids[name])) is not None:
            queue.append_log(store, step.id, LOG)
            if step.name != end:
                shown = {"shown": {"Doe2026.V4-pls": {"model-done": 0.43}}}
                queue.finish(store, step.id, "host:1234 worker", peak=3 << 28, facts=shown if name == "done" else {})
                continue
            if name == "failed":
                queue.fail(store, step.id, "host:1234 worker", "models/plugin/__init__.py: ModuleNotFoundError: torch")
            elif name == "review":
                queue.wait_for_review(store, step.id, "waits for an operator to review code", "host:1234 worker")
            else:
                queue.heartbeat(store, step.id, "host:1234 worker", 600, "3/12 model-running on Simulated.V1-cka")
            break
    protection.protect(store, "Doe2026.V4-pls")
    yield {"": "/submissions", "operator": "/operator", **{name: f"/submissions/{one}" for name, one in ids.items()}}
    protection.unprotect(store, "Doe2026.V4-pls")


def sign_in(browser, url, token):
    browser.get(f"{url}/sign-in")
    browser.find_element("id", "token").send_keys(token)
    browser.find_element("css selector", "main button").click()
    browser.wait("document.querySelector('.out')")


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="there is no browser")
@pytest.mark.parametrize(("colours", "width"), [("light", 1280), ("dark", 390)])
def test_pages_can_be_read_by_all(browser, url, tokens, pages, colours, width):
    from tests.support.accessibility import violations

    browser.resize(width)
    browser.prefer(colours)
    browser.delete_all_cookies()
    browser.get(f"{url}/sign-in")
    assert violations(browser) == []
    sign_in(browser, url, tokens["op"])
    browser.messages()
    for path in pages.values():
        browser.get(url + path)
        assert violations(browser) == [], path
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, path
    assert browser.messages() == []


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="there is no browser")
def test_a_page_goes_on_by_itself(browser, url, tokens, pages, store):
    browser.resize(1280)
    sign_in(browser, url, tokens["lab"])
    browser.get(url + pages["running"])
    one = pages["running"].split("/")[-1]
    [step] = [each for each in queue.steps(store, one) if each.state == "running"]
    queue.append_log(store, step.id, "\nthe newest line")
    browser.wait("document.getElementById('log-public').textContent.includes('the newest line')")
    queue.cancel(store, one)
    browser.wait("document.querySelector('form[action$=retry]')")
    assert "cancelled" in browser.find_element("id", "state").text
