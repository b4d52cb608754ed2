"""Episodes that ended without an answer of the agent's own: counted wherever a reader looks for how good it is."""

from __future__ import annotations

import json
import re
import unicodedata

import html_reports
import note_runs
import pytest
from browsing import browser_running, opened, overflow, problems
from desk import bind
from projects import agent, last_run, project
from test_summary import made

from pytest_supportbench.cli import main
from pytest_supportbench.episode import run_episode
from pytest_supportbench.recount import adds_up
from pytest_supportbench.reporting.terminal import lines
from pytest_supportbench.results import Result
from pytest_supportbench.results_file import read_run
from pytest_supportbench.scoring import score_episode
from pytest_supportbench.summary import row, summarise

AGENTS = """
def flaky(observation):
    number = case(observation)
    if number == 1:
        return GOOD
    if number == 2:
        return "I have no form"
    if number == 3:
        return {"message": "let me think", "tool_calls": []}
    raise RuntimeError(f"POST http://desk/reply: status 503 Service Unavailable, request {number}f8a21c7")


def mostly_dead_server(observation):
    return flaky(observation)
"""
NUMBERS = range(1, 8)
HTML = ("--html=report.html", "--self-contained-html", "--supportbench-max-turns=2")
TOLD = """
python-desk_agents-flaky: 1/7 (14 %) passed all four dimensions
no answer of its own: 6 of 7 scored episodes
4 crashed or refused (agent_failed): RuntimeError: POST http://desk/reply: status 503 Service Unavailable,
request 4f8a21c7 (desk_agents.py:43) ×4
remedy: ask its server for fewer episodes at a time with --supportbench-concurrency
1 with replies that were no valid turn (invalid_reply): the reply is no JSON:
Expecting value: line 1 column 1 (char 0) ×1
remedy: mend what it sends; `supportbench schema turn` prints the form of a turn
1 without an outcome within the turns allowed (turn_limit)
remedy: if it needs more turns than that, allow them with --supportbench-max-turns
dimension passed
resolution 1/7 (14 %)
policy 7/7 (100 %) 6 of them without an answer
tool use 7/7 (100 %) 6 of them without an answer
escalation 1/7 (14 %)
"""
LINES_OF_PIECES = """[...document.querySelectorAll('td[data-label=Agent] bdi')].flatMap((name) =>
    [...name.childNodes].filter((it) => it.nodeType === Node.TEXT_NODE).map((text) => {
        const range = document.createRange();
        range.selectNode(text);
        return range.getClientRects().length;
    }))"""


TEXTS = {"title": "t", "permitted": "p", "observed": "o", "headline": "h"}


def crashed(number, text="RuntimeError: gone", **changes):
    """Return the row of an episode that crashed, and broke no policy by it."""
    dimensions = {"resolution": False, "policy": True, "tool_use": False, "escalation": False}
    ended = {"ending": "agent_failed", "ending_text": text}
    return made(number, "failed", dimensions=dimensions, **ended, **TEXTS, **changes)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["plain", "n2"])
def test_a_server_that_never_answered_is_told_beside_every_share(plain, pytester, workers):
    """Terminal, page and results file count the six of seven, and say of 7/7 that six of them are no praise."""
    project(pytester, NUMBERS, AGENTS)
    found = plain(*workers, *HTML, "-p", "no:cacheprovider", agent("flaky")).stdout.str()
    said = " ".join(found.split())
    assert re.sub(r"py:\d+", "py", " ".join(TOLD.split())) in re.sub(r"py:\d+", "py", said)
    assert "abandoned 6 of these without an answer: abandoned 6 violations" in said
    assert (
        max(map(len, found[found.index("= supportbench: ") :].partition("results: ")[0].splitlines())) <= 80
    )
    assert last_run(pytester).summary["agents"][0]["no_answer"] == {
        "agent_failed": 4,
        "invalid_reply": 1,
        "turn_limit": 1,
    }

    page = html_reports.read(pytester.path / "report.html")
    _, _, banner = page.banner
    assert "6 of 7 scored episodes ended without an answer of the agent's own: 4 crashed or refused" in banner
    assert "own doing" not in banner
    assert re.search(r"request 4f8a21c7 \(desk_agents.py:\d+\) ×4", page.main.partition("What broke")[0])
    assert page.main.count("6 of them without an answer") == 3
    assert "Passes without an answer count here: policy 6, tool use 6." in page.main
    endings = [line["ending"] for line in sorted(page.rows, key=lambda line: line["name"])]
    assert endings == ["acted", "invalid_reply", "turn_limit", *["agent_failed"] * 4]


def test_nothing_is_said_where_every_episode_has_an_answer(plain, pytester):
    """Right or wrong, who answers is not talked about; the page then says that all failures are the agent's."""
    project(pytester, [1, 2])
    found = plain(*HTML, "-p", "no:cacheprovider", agent("odd")).stdout.str()
    assert "answer of its own" not in found
    assert "without an answer" not in found
    page = html_reports.read(pytester.path / "report.html")
    assert "what failed in them is the agent's own doing" in page.banner[2]
    assert "an answer" not in page.main
    assert last_run(pytester).summary["agents"][0]["no_answer"] == {}


def test_two_agents_stand_side_by_side_in_terminal_and_browser(plain, pytester):
    """The table counts both, is filtered by how episodes ended, and breaks the agents' names at their marks."""
    project(pytester, NUMBERS, AGENTS)
    found = plain(*HTML, "-p", "no:cacheprovider", agent("odd"), agent("mostly_dead_server")).stdout.str()
    assert re.search(r"^  no answer +0 +6$", found, re.MULTILINE)
    report = pytester.path / "report.html"
    with browser_running() as browser, opened(browser, report) as (page, seen):
        options = page.locator("#sb-ending option").all_inner_texts()
        assert options == [
            "all",
            "with an outcome",
            "crashed or refused",
            "invalid replies",
            "no outcome in its turns",
        ]
        page.select_option("#sb-ending", "agent_failed")
        shown = page.locator(".sb-row td[data-label=Outcome]").all_inner_texts()
        assert len(shown) == 4
        assert all("crashed or refused" in text for text in shown)
        page.click("text=Show all")
        names = page.locator(".sb-row td[data-label=Agent] bdi")
        assert "python-desk_agents-mostly_dead_server" in names.all_text_contents()
        assert set(page.evaluate(LINES_OF_PIECES)) == {1}
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow(page) == 0
        assert problems(page) == []
        assert (seen.errors, seen.refused) == ([], [])


def test_texts_that_differ_by_ids_alone_are_one(tmp_path):
    """A request's number or time makes no other failure of it; another status does."""
    texts = [f"status 500, request {number:08x}" for number in range(3)] + ["status 502, request 00000007"]
    (ended,) = summarise("a", [crashed(*both) for both in enumerate(texts)]).no_answer.endings
    assert ended.texts == (("status 500, request 00000000", 3), ("status 502, request 00000007", 1))


def test_a_hostile_text_is_bounded_and_steers_no_terminal(tmp_path):
    """What an agent raised is a few lines of plain text, however long and whatever it holds."""
    bound = bind(tmp_path)

    def reply(_):
        raise RuntimeError("\x1b[31mred\x07 \u202eevil\r\n" + "A" * 9_000 + " <script>alert(1)</script>")

    episode = run_episode(bound, reply)
    item = row(Result(bound, "a", 1, episode, score_episode(bound, episode)), "unnecessary_handoff")
    told = list(lines(summarise("a", [item])))
    told = told[: told.index("")]
    assert "RuntimeError: \\u001b[31mred" in " ".join(told)
    assert len(told) < 8
    assert not any(unicodedata.category(letter) in {"Cc", "Cf"} for letter in "".join(told))


def test_time_outs_are_one_however_long_each_took():
    """The limit is told with the remedy, and not the seconds of one of them."""
    rows = [crashed(1), crashed(2)]
    for item in rows:
        item |= {"ending": "time_limit", "ending_text": "its limit is 1 s"}
    told = " ".join(" ".join(lines(summarise("a", rows))).split())
    assert "2 out of time (time_limit): its limit is 1 s ×2 remedy: make the agent faster" in told


def test_rows_that_do_not_say_how_they_ended_are_read():
    """An older version's rows count as answered."""
    summary = summarise("a", [made(1), made(2, "failed", **TEXTS)])
    assert summary.no_answer.count == 0
    assert not any("answer" in line for line in lines(summary))


def stored(tmp_path, count, name="run.jsonl"):
    """Write a run of ten scenarios of which the first ``count`` crashed."""
    played = note_runs.played(note_runs.silent)
    for line in played[:count]:
        line |= {"ending": "agent_failed", "failure": "POST http://desk: status 503 <b>*x*</b>"}
    return note_runs.stored(tmp_path / name, played)


def test_a_note_says_it_before_any_share(tmp_path, capsys):
    """The finding begins with it, a table has the text escaped, and the share of policy says it again."""
    assert main(["note", str(stored(tmp_path, 7))]) == 0
    text = capsys.readouterr().out
    finding = next(line for line in text.splitlines() if line.startswith("**"))
    assert finding.startswith(
        "**7 of 10 scored episodes of one ended without an answer of its own (7 crashed or refused);"
    )
    assert re.search(r"^\| policy \| .*; \d of them without an answer \|$", text, re.MULTILINE)
    assert r"status 503 \<b\>\*x\*\</b\> ×7" in text
    assert main(["note", str(stored(tmp_path, 0))]) == 0
    assert "without an answer" not in capsys.readouterr().out


def test_compare_says_it_beside_the_verdict(tmp_path, capsys):
    """A difference of shares alone would not show that the other side never answered."""
    before, now = stored(tmp_path, 0, "before.jsonl"), stored(tmp_path, 7, "now.jsonl")
    summary = str(tmp_path / "summary.md")
    main(["compare", str(before), str(now), "--summary", summary])
    assert "7 of 10 scored episodes ended without an answer of the agent's own" in " ".join(
        capsys.readouterr().out.split()
    )
    main(["compare", str(before), str(now), "--summary", summary, "--format", "json"])
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["no_answer"] == [7, 10]
    assert "7 of 10 scored episodes" in (tmp_path / "summary.md").read_text("utf-8")
    main(["compare", str(now), str(before), "--summary", summary])
    assert "an answer" not in capsys.readouterr().out


def test_a_closing_line_from_before_still_adds_up(tmp_path):
    """Files that do not state the count are whole; one that states another count is not."""
    run = read_run(stored(tmp_path, 7))
    assert run.summary["agents"][0]["no_answer"] == {"agent_failed": 7}
    assert adds_up(run)
    run.summary["agents"][0]["no_answer"]["agent_failed"] = 6
    assert not adds_up(run)
    del run.summary["agents"][0]["no_answer"]
    assert adds_up(run)
