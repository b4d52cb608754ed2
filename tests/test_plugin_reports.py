"""What a run shows: the terminal's summary, JUnit XML and the HTML report, also for hostile model output."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler
from xml.etree import ElementTree as ET

import html_reports
import pytest
from projects import DARK, agent, project, scenario, summary_of
from quiet_server import QuietServer

HOSTILE = """
NASTY = (
    "<script>alert(1)</script></script>]]><b>bold</b>&lt; \\x1b[31mred\\x1b]0;title\\x07 "
    "\\u202eevil\\u202c \\x00nul \\ufffe \\ud800 {0} %s " + "A" * 100_000
)


def hostile(observation):
    print("\\x1b[2J printed")
    return {
        "action": "decline",
        "message": NASTY,
        "tool_calls": [{"tool": "add_note", "arguments": {"text": NASTY, NASTY[:60]: NASTY[:60]}}],
    }


def hostile_crash(observation):
    raise RuntimeError(NASTY)


def hostile_text(observation):
    return NASTY
"""

GOLDEN = """\
============================ supportbench: desk 1.0 ============================
python-desk_agents-odd: 2/3 (67 %) passed all four dimensions

  dimension                             passed
  resolution                        2/3 (67 %)
  policy                           3/3 (100 %)
  tool use                         3/3 (100 %)
  escalation                        2/3 (67 %)
  strict pass                       2/3 (67 %)   by effects alone 2/3 (67 %)

  category                              passed
  billing                           1/2 (50 %)
  security                         1/1 (100 %)

  escalation                          recall       specificity    routine solved
  python-desk_agents-odd                   –        2/3 (67 %)        2/3 (67 %)
  always-escalate constant                 –         0/3 (0 %)         0/3 (0 %)
    correct escalation 0, misrouted 0, missed escalation 0, correct autonomy
    2, unnecessary hand-off 0, abandoned 1

  violations: none
  infrastructure errors: none
  usage: no tokens reported, SECONDS s an episode (median)
  explanation: 0.67 of concepts, UNCALIBRATED phrase matcher; part of no score

  what failed
  TB-002 Asks for the opening hours, case 2
    permitted  answer
    observed   action decline
    verdict    failed resolution, escalation: expected answer; decline

results: .supportbench/runs/RUN.jsonl"""


def test_the_summary_is_this_text(plain, pytester):
    """The summary of a small run is exactly this text, for 80 columns."""
    folder = project(pytester, [1, 2])
    scenario(folder, 3, category="security")
    assert summary_of(plain(agent("odd")).stdout.str()) == GOLDEN


def test_no_line_of_the_summary_is_wider_than_80_columns(plain, pytester):
    """Long titles, ids, categories and agent names are wrapped or cut at 80 columns."""
    long = "very-long-words-" * 5
    folder = project(pytester, [1], agents=f"\n\n{'a_long_name' * 7} = bad\n")
    scenario(
        folder, 2, id=long + "x", title="A long title " * 20, category=long.strip("-"), tags=long.strip("-")
    )
    text = summary_of(plain(agent("a_long_name" * 7), "--supportbench-agent=" + DARK).stdout.str())
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_errors_are_counted_apart(plain, pytester):
    """Infrastructure errors appear apart with cause and remedy, and the headline also counts them as failures."""
    project(pytester, [1, 2])
    text = summary_of(plain(agent("odd"), f"--supportbench-agent={DARK}").stdout.str())
    assert "python-desk_agents-odd: 1/2 (50 %) passed all four dimensions" in text
    ours = text[text.index("ollama-m: ") :]
    assert "2 not scored for infrastructure errors; with errors as failures 0/2 (0 %)" in ours
    assert "infrastructure error: connection_refused ×2:" in ours
    assert "remedy: start the server with: ollama serve" in ours


def test_quiet_runs_keep_the_summary_and_no_summary_drops_it(plain, pytester):
    """``-q`` keeps the summary, ``--no-summary`` drops it with pytest's own."""
    project(pytester)
    assert "passed all four" in plain("-q", agent("good")).stdout.str()
    assert "passed all four" not in plain("--no-summary", agent("good")).stdout.str()


def test_v_lists_every_failure(plain, pytester):
    """The summary lists twenty failures and says how many more there are; ``-v`` lists all."""
    project(pytester, range(1, 24))
    plain(agent("bad")).stdout.fnmatch_lines(["*and 3 more; -v lists them all"])
    text = summary_of(plain("-v", agent("bad")).stdout.str())
    assert text.count("verdict ") == 23
    assert "more; -v" not in text


def test_passing_runs_stay_silent_about_episodes_unless_asked(plain, pytester):
    """A passed item shows its conversation only with ``-rP`` or ``-rA``."""
    project(pytester)
    assert "conversation" not in plain(agent("good")).stdout.str()
    plain("-rA", agent("good")).stdout.fnmatch_lines(["*TB-001 with python-desk_agents-good: conversation*"])


@pytest.mark.parametrize("ci", ["", "true"])
def test_a_failure_reads_from_verdict_to_checks(plain, pytester, monkeypatch, ci):
    """A failed item shows its verdict first, then what was permitted and observed, within 80 columns, and once."""
    monkeypatch.setenv("CI", ci)
    project(pytester, [2])
    result = plain(agent("odd"))
    result.stdout.fnmatch_lines(
        [
            "TB-002 with python-desk_agents-odd: failed resolution, escalation: expected",
            "  answer; decline",
            "",
            "situation  Asks for the opening hours, case 2",
            "permitted  answer",
            "observed   action decline",
            "resolution   FAILED*",
            "✗ resolution: action",
            "    expected  answer",
        ]
    )
    text = result.stdout.str()
    assert "assert_passed" not in text
    assert text.count("✗ resolution: action") == 1
    assert text.count("resolution   FAILED") == 1
    (short,) = [line for line in result.stdout.lines if line.startswith("FAILED ")]
    assert short.startswith("FAILED desk/case002.scenario.yaml::TB-002 - Failed: TB-002 with python")
    failure = text.partition(" FAILURES ")[2].partition("short test summary info")[0]
    assert max(map(len, failure.splitlines())) <= 80
    if ci:  # there pytest cuts no line
        assert short.endswith("failed resolution, escalation: expected answer; decline")
    result.stdout.fnmatch_lines(["*TB-002 with python-desk_agents-odd: what held beside that*", "✓ held: *"])


def test_a_failure_of_the_users_own_test_shows_what_was_expected(plain, pytester):
    """Where an assertion of the user's failed instead, checks and scores are in the sections."""
    project(pytester, [2])
    pytester.makepyfile(
        test_own="""
        def test_own(supportbench):
            run = supportbench.run("desk/case002.scenario.yaml")
            assert run.verdict == "passed"
        """
    )
    result = plain("test_own.py", agent("odd"))
    result.stdout.fnmatch_lines(
        ["*expected beside actual*", "✗ resolution: action", "*: scores*", "resolution   FAILED*"]
    )


def test_agents_of_one_name_are_told_apart(plain, pytester):
    """Two agent files with one name have their paths in the summary; others have no need of it."""
    project(pytester, [1])
    for folder in ("old", "new"):
        (pytester.path / folder).mkdir()
        (pytester.path / folder / "desk.yaml").write_text(
            "kind: python\ntarget: desk_agents:good\n", encoding="utf-8"
        )
    text = plain(
        *(f"--supportbench-agent={name}" for name in ("old/desk.yaml", "new/desk.yaml", "rules"))
    ).stdout.str()
    assert "desk: 1/1 (100 %) passed all four dimensions\n  old/desk.yaml\n" in text
    assert "desk.2: 1/1 (100 %) passed all four dimensions\n  new/desk.yaml\n" in text
    assert "passed all four dimensions\n  rules\n" not in text


def test_junit_has_properties_failures_and_errors(run, pytester):
    """JUnit XML counts failures and errors apart, and carries verdict, dimensions and violations as properties."""
    project(pytester, [1, 2])
    run(agent("odd"), f"--supportbench-agent={DARK}", "--junitxml=out.xml")
    suite = ET.parse(pytester.path / "out.xml").getroot()[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "2",
        "skipped": "0",
    }
    cases = {case.get("name"): case for case in suite.iter("testcase")}

    def properties(name):
        return {pair.get("name"): pair.get("value") for pair in cases[name].iter("property")}

    failed = properties("TB-002[python-desk_agents-odd]")
    assert failed["supportbench_scenario"] == "TB-002"
    assert failed["supportbench_verdict"] == "failed"
    assert failed["supportbench_ending"] == "acted"
    assert failed["supportbench_resolution"] == "failed"
    assert failed["supportbench_policy"] == "passed"
    assert failed["supportbench_escalation_class"] == "abandoned"
    assert failed["supportbench_explanation_by_phrases"] == "0.00"
    failure = cases["TB-002[python-desk_agents-odd]"].find("failure")
    message = "TB-002 with python-desk_agents-odd: failed resolution, escalation: expected answer; decline"
    assert failure.get("message") == f"Failed: {message}"
    assert failure.text.startswith(message[:70])
    assert "✗ resolution: action\n    expected  answer\n" in failure.text
    broken = properties("TB-001[ollama-m]")
    assert broken["supportbench_verdict"] == "error"
    assert broken["supportbench_ending"] == "error"
    assert broken["supportbench_error"] == "connection_refused"
    assert cases["TB-001[ollama-m]"].find("error") is not None
    assert properties("TB-001[python-desk_agents-odd]")["supportbench_verdict"] == "passed"


@pytest.mark.parametrize("name", ["hostile", "hostile_crash", "hostile_text"])
def test_hostile_output_stays_text(plain, pytester, name):
    """A model that sends markup, escapes, control characters and 100 kB breaks no report and steers no terminal."""
    project(pytester, agents=HOSTILE)
    result = plain(
        agent(name),
        "-rA",
        "--junitxml=out.xml",
        "--html=out.html",
        "--self-contained-html",
        "--color=no",
        "-vv",
    )
    result.assert_outcomes(failed=1)
    shown = result.stdout.str() + result.stderr.str()
    assert not set(shown) & {"\x1b", "\x00", "\x07", "\u202e"}
    assert "A" * 5_000 not in shown
    assert "<script>alert(1)" in shown
    ET.parse(pytester.path / "out.xml")
    page = (pytester.path / "out.html").read_text(encoding="utf-8")
    assert "alert(1)" in str(html_reports.read(pytester.path / "out.html").stories)
    assert not re.search(r"<script>alert|</script>\]\]|<b>bold", page)
    assert page.count("</script>") == page.count("<script")
    assert "\x1b" not in page
    assert len(page) < 200_000


def test_a_hostile_model_server_steers_no_terminal(plain, pytester):
    """What a broken model server answers is quoted plainly and in bounds, also where it fails the set-up."""

    class Nasty(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"error": "\x1b]0;title\x07\x1b[31mred \u202e" + "B" * 50_000}).encode()
            self.send_response(500)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            self.do_GET()

        def log_message(self, *args):
            pass

    with QuietServer(("127.0.0.1", 0), Nasty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        project(pytester)
        host = f"http://127.0.0.1:{server.server_port}"
        result = plain(
            f"--supportbench-agent=ollama:m?host={host}", "--junitxml=out.xml", "--color=no", "-vv"
        )
        server.shutdown()
    result.assert_outcomes(errors=1)
    shown = result.stdout.str() + result.stderr.str()
    assert "\\u001b" in shown
    assert not set(shown) & {"\x1b", "\x07", "\u202e"}
    assert shown.count("B") < 20_000
    ET.parse(pytester.path / "out.xml")


def test_html_shows_every_item_once(plain, pytester):
    """The HTML report has one row an item, with failures and errors counted apart."""
    project(pytester, [1, 2])
    plain(agent("odd"), f"--supportbench-agent={DARK}", "--html=out.html", "--self-contained-html")
    page = (pytester.path / "out.html").read_text(encoding="utf-8")
    assert re.search(r"1 Failed", page)
    assert re.search(r"2 Errors", page)
    assert re.search(r"1 Passed", page)


def test_the_header_names_the_agents(plain, pytester):
    """The header names the agents by the ids that ``-k`` and results use."""
    project(pytester)
    plain("--supportbench-agent=oracle", agent("good")).stdout.fnmatch_lines(
        ["supportbench agents: oracle, python-desk_agents-good"]
    )


def test_projects_without_scenarios_pay_nothing(pytester):
    """Where no scenario is collected, neither the core nor pydantic is imported, and no summary is printed."""
    (pytester.path / "pytest.toml").write_text('[pytest]\nsupportbench_agent = ["rules"]\n', encoding="utf-8")
    pytester.makepyfile(
        """
        import sys

        def test_light():
            heavy = {"pydantic", "yaml", "regex", "asyncio", "pytest_supportbench.session"}
            assert not heavy & set(sys.modules)
        """
    )
    others = ("html", "metadata", "xdist", "rerunfailures", "anyio", "hypothesispytest", "langsmith_plugin")
    result = pytester.runpytest_subprocess(*(part for name in others for part in ("-p", f"no:{name}")))
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*supportbench: *")
    assert not (pytester.path / ".supportbench").exists()


def test_optional_reports_may_be_off(plain, pytester):
    """With pytest-html off everything else still works."""
    project(pytester, [1, 2])
    plain("-p", "no:html", "-p", "no:metadata", "-p", "no:junitxml", agent("odd")).assert_outcomes(
        passed=1, failed=1
    )
