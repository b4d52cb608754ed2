"""Two hundred hostile strings in every field, and every story opened in a browser: all is shown, nothing runs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import html_reports
import pytest
from browsing import browser_running, opened, overflow, pytest_command, surroundings
from hostile import HOSTILE
from shared_work import once

BIG = 1_000_000
SUITE = """
name: desk
version: "1.0"
policies: [{policies}]
"""
SCENARIO = """
id: H-{number:03}
title: {text}
category: billing
tags: [hostile]
failure_mode: {{code: says-nothing, description: {text}}}
as_of: 2026-03-14T10:30:00-05:00
customer:
  subject: cus_1
  message: {message}
  history: [{{role: customer, message: {text}}}, {{role: agent, message: {text}}}]
state:
  customers:
    cus_1: {{name: {name}, email: a@example.com}}
visible: []
policies: [p-{number}]
tools: [get_customer, add_note, escalate_to_human]
expected:
  actions: [answer]
  escalation: must_not
  never_say: [{{phrase: {phrase}, code: unsupported_commitment}}]
  explanation: [{{concept: hours, any_of: [{phrase}]}}]
  because: [p-{number}]
reference: [{{action: answer, message: "We are open."}}]
counterexamples:
  - {{name: {text}, turns: [{{action: decline, message: "No."}}], fails: [resolution]}}
"""
AGENTS = """
import re

from hostile import HOSTILE

from pytest_supportbench.errors import InfrastructureError


def text_of(observation):
    return HOSTILE[int(re.findall(r"number (\\d+)", observation.customer.message)[-1])]


def valid(text, size=12_000):
    return text[:size].encode("utf-8", "replace").decode()


def speaks(observation):
    \"\"\"Calls tools, sends what is no turn, asks, and crashes, each time with its text.\"\"\"
    text = valid(text_of(observation))
    replies = sum(entry.role in {"agent", "customer"} for entry in observation.transcript)
    calls = [
        {"tool": "get_customer", "arguments": {"customer_id": "cus_1"}},
        {"tool": text[:200], "arguments": {text[:200]: text}},
        {"tool": "add_note", "arguments": {"customer_id": "cus_1", "text": text}},
    ]
    if not observation.transcript:
        return {"action": None, "message": text, "tool_calls": calls}
    if not any(entry.role == "customer" for entry in observation.transcript):
        return {"action": "ask_for_information", "message": text, "asks_for": [text]}
    raise RuntimeError(text_of(observation))


def ends(observation):
    \"\"\"Sends its text where a turn should be, and then says it as its answer.\"\"\"
    text = text_of(observation)
    return {"action": "answer", "message": valid(text, 60_000)} if observation.transcript else text


def breaks(observation):
    \"\"\"Breaks beside the agent, with its text as cause, message and remedy.\"\"\"
    text = text_of(observation)
    raise InfrastructureError(text[:200], text, text)
"""


def quoted(text):
    """Return a text as YAML's double-quoted scalar; half a surrogate pair, which no file can hold, is left out."""

    def one(letter):
        code = ord(letter)
        if letter in '"\\':
            return f"\\{letter}"
        if 0xD800 <= code < 0xE000:
            return ""
        odd = code < 0x20 or 0x7F <= code < 0xA0 or code in {0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF}
        return f"\\u{code:04x}" if odd else letter

    return f'"{"".join(map(one, text))}"'


AGENT_NAMES = ("speaks", "ends", "breaks")
FOLD = 1_200
"""So many characters of a text are shown before the rest is folded."""


@pytest.fixture(scope="session")
def report(tmp_path_factory, compiled):
    """Return the report of a run in which every text was in every field; the last account is a megabyte."""
    return once(tmp_path_factory, "hostile", lambda folder: run(folder, compiled)) / "report.html"


def run(folder, compiled):
    """Write a project with the texts in every field, and run it."""
    (folder / "pytest.toml").write_text("[pytest]\n", encoding="utf-8")
    (folder / "hostile_agents.py").write_text(AGENTS, encoding="utf-8")
    (folder / "hostile.py").write_bytes((Path(__file__).parent / "hostile.py").read_bytes())
    policies = ", ".join(f"{{id: p-{number}, text: {quoted(text)}}}" for number, text in enumerate(HOSTILE))
    (folder / "suite.yaml").write_text(SUITE.format(policies=policies), encoding="utf-8")
    for number, text in enumerate(HOSTILE):
        last = number == len(HOSTILE) - 1
        fields = {
            "text": text,
            "message": f"{text[:90_000]} number {number}",
            "phrase": (text * 2)[:400],
            "name": "n" * BIG if last else text,
        }
        path = folder / f"h{number:03}.scenario.yaml"
        values = {name: quoted(value) for name, value in fields.items()}
        path.write_text(SCENARIO.format(number=number, **values), encoding="utf-8")
    agents = [f"--supportbench-agent=python:hostile_agents:{name}" for name in AGENT_NAMES]
    done = subprocess.run(
        pytest_command("--html=report.html", *agents),
        cwd=folder,
        env=surroundings(compiled),
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout.decode()[-3_000:] + done.stderr.decode()[-3_000:]


@pytest.fixture(scope="module")
def browser():
    """Return a browser that is running."""
    with browser_running() as running:
        yield running


def shown(text):
    """Return the beginning of a text as the page shows it: half a pair as a mark, control characters as signs."""
    text = text[:FOLD].encode("utf-8", "replace").decode()
    signs = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n"} | {0x7F: "␡"}
    return text.translate(signs)


def number_of(row):
    return int(row["scenario"].removeprefix("H-"))


def test_every_text_is_in_the_file_and_none_of_it_as_markup(report):
    """Each story has its text, bounded, in the scenario's fields and in the agent's; no other program is there."""
    page = html_reports.read(report)
    assert len(page.rows) == len(page.stories) == len(HOSTILE) * len(AGENT_NAMES)
    assert page.text.count("<script") == page.text.count("</script>")
    for row in page.rows:
        text = HOSTILE[number_of(row)]
        story = page.stories[row["key"]]
        if row["agent"].endswith("ends"):
            assert story["turns"][1]["message"][:500] == text[:500].encode("utf-8", "replace").decode()
        if text.encode("utf-8", "ignore").decode() == text:  # a file cannot hold the others
            stake = page.stakes[story["stake"]]
            assert stake["description"][:500] == stake["history"][1][1][:500] == text[:500]
    assert len(page.text) < 6_000 * len(page.rows)


OPEN_ALL = """async () => {
    for (const button of document.querySelectorAll('.sb-toggle[aria-expanded=false]')) button.click();
    while ([...document.querySelectorAll('.sb-detail > td')].some((cell) => cell.textContent === '…')) {
        await new Promise((done) => setTimeout(done, 20));
    }
    for (const part of document.querySelectorAll('#supportbench details')) part.open = true;
    await new Promise((done) => setTimeout(done, 200));
}"""
STORIES = """() => [...document.querySelectorAll('.sb-story')].map((story) =>
    [story.getAttribute('aria-label'), story.textContent])"""


@pytest.mark.parametrize("agent", AGENT_NAMES)
def test_nothing_runs_nothing_leaves_and_all_is_readable(browser, report, agent):
    """Every story is opened with all its parts: each text is there to be read, and the page is still itself."""
    with opened(browser, report) as (page, seen):
        page.select_option("#sb-agent", f"python-hostile_agents-{agent}")
        page.evaluate(OPEN_ALL)
        stories = dict(page.evaluate(STORIES))
        assert len(stories) == len(HOSTILE)
        for number, text in enumerate(HOSTILE):
            story = stories[f"H-{number:03}[python-hostile_agents-{agent}]"]
            if agent != "ends" and text.encode("utf-8", "ignore").decode() != text:
                continue
            assert shown(text) in story, f"{number}: {text[:80]!r}"
        assert page.title() == "FAILED – report.html"
        assert page.evaluate("window.pwned") is None
        assert (seen.dialogs, seen.errors) == ([], [])
        assert seen.requests == [report.as_uri()]
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 780})
            assert overflow(page) == 0, width
        assert page.locator(".sb-banner").is_visible()
        assert (
            page.locator("#supportbench script:not([type]), #supportbench iframe, #supportbench img").count()
            == 1
        )


def test_pytest_htmls_own_list_of_it_is_no_danger_either(browser, report):
    """With every log of that list in sight nothing runs, nothing is asked for, and the page keeps its width."""
    with opened(browser, report) as (page, seen):
        assert page.locator("#results-table .log").count() == 0
        page.evaluate("document.getElementById('sb-pytest').open = true")
        page.wait_for_selector("#results-table .log", state="attached")
        page.click("#show_all_details")
        assert page.locator("#results-table .log").count() == len(HOSTILE) * len(AGENT_NAMES)
        assert "H-000[python-hostile_agents-ends]" in page.inner_text("#results-table")
        assert (page.title(), page.evaluate("window.pwned"), seen.dialogs) == (
            "FAILED – report.html",
            None,
            [],
        )
        assert seen.requests == [report.as_uri()]
        assert overflow(page) == 0


def test_the_policy_stops_a_program_that_got_in(browser, report, tmp_path):
    """Markup put into the written file by force runs nothing and loads nothing; without the policy it would."""
    text = report.read_text(encoding="utf-8")
    evil = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'><script src='evil.js'></script>"
    evil += "<iframe src='javascript:parent.pwned = 3'></iframe><link rel=stylesheet href='https://leak.invalid/x.css'>"
    forced = text.replace("<h1>", f"{evil}<h1>", 1)
    assert forced != text
    (tmp_path / "evil.js").write_text("window.pwned = 4", encoding="utf-8")
    for name, page_text in (("with", forced), ("without", re.sub(r"<meta http-equiv[^>]*>", "", forced))):
        path = tmp_path / f"{name}.html"
        path.write_text(page_text, encoding="utf-8")
        with opened(browser, path) as (page, seen):
            ran = page.evaluate("window.pwned")
            left = [url for url in seen.requests if not url.startswith("file:")]
            if name == "with":
                assert ran is None
                assert left == []
                assert any("Content Security Policy" in line for line in seen.refused)
            else:
                assert ran is not None
                assert left
