"""Whatever an agent does over HTTP, as a command or as a function: it is bounded, recorded, and stops nothing."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager

import html_reports
import psutil
import pytest
from fake_http import served
from projects import last_run, project, start

LIMIT = 3
FLOOD = 100_000_000
SCRIPT = "<script>alert(/h0stile/)</script>"

HOSTILE = f"""
import os, re, subprocess, sys, time

GOOD = b'{{"action": "answer", "message": "We are open from nine to five."}}'
RAW = {{
    3: None,  # a flood
    5: b"[" * 10_000 + b"]" * 10_000,
    6: b'{{"action": "answer", "message": NaN}}',
    7: b'{{"action": "answer", "action": "decline"}}',
    8: b'{{"action": "answer", "message": "\\\\ud800"}}',
    9: b"<html>{SCRIPT}</html>",
    10: b'{{"action": "answer", "message": "\\0\\0"}}',
    11: b'{{"action": "answer", "message": "\\xff\\xfe"}}',
    12: b'{{"action": "decline", "message": "{SCRIPT} nine"}}',
    13: b'{{"action": "decline", "message": "\\\\u0000\\\\u202e\\\\u001b[2J"}}',
    14: b'{{"action": ' + b"9" * 20_000 + b"}}",
}}
"""
"""What the hostile agents have in common: case 1 and 15 are good, 2 hangs, 3 floods, 4 forks, the others are bytes."""

COMMAND = """
import json

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(300)
        os._exit(0)

for line in sys.stdin:
    case = int(re.search(r"case (\\d+)", json.loads(line)["customer"]["message"])[1])
    out = sys.stdout.buffer
    if case in {2, 4}:
        subprocess.Popen(["sleep", "300"])
        subprocess.Popen(["sleep", "300"], start_new_session=True)
        daemon()
    if case == 2:
        time.sleep(300)
    if case == 3:
        for _ in range(1_000):
            out.write(b"x" * 100_000)
    out.write(RAW.get(case, GOOD) + b"\\n")
    out.flush()
"""

FUNCTION = """
def reply(observation):
    case = int(re.search(r"case (\\d+)", observation.customer.message)[1])
    if case == 2:
        time.sleep(300)
    if case == 3:
        return "x" * 100_000_000
    return RAW.get(case, GOOD)
"""

CONFTEST = """
import threading

def pytest_unconfigure(config):
    names = [t.name for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]
    with open("threads.txt", "w") as file:
        print(*names, file=file)
"""

ENDINGS = {
    1: "acted",
    2: "time_limit",
    3: "invalid_reply",
    4: "acted",
    5: "invalid_reply",
    6: "invalid_reply",
    7: "invalid_reply",
    8: "invalid_reply",
    9: "invalid_reply",
    10: "invalid_reply",
    11: "invalid_reply",
    12: "acted",
    13: "acted",
    14: "invalid_reply",
    15: "acted",
}
PASSED = {1, 4, 15}


@contextmanager
def over_http(folder):
    """Serve the hostile answers; case 4 drips its answer byte by byte, but in time."""
    names = {}
    exec(HOSTILE, names)

    def answer(request):
        case = int(request.body["customer"]["message"].split()[-1])
        if case == 2:
            request.server.released.wait(60)
            return
        if case == 3:
            request.send_response(200)
            request.end_headers()
            try:
                for _ in range(FLOOD // 100_000):
                    request.wfile.write(b"x" * 100_000)
            except OSError:
                request.close_connection = True
            return
        body = names["RAW"].get(case, names["GOOD"])
        if case != 4:
            request.send(body=body)
            return
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        for byte in body:
            request.wfile.write(bytes([byte]))
            time.sleep(0.002)

    with served(answer) as server:
        yield server.url


@contextmanager
def as_command(folder):
    (folder / "hostile.py").write_text(HOSTILE + COMMAND, encoding="utf-8")
    yield f"command:{sys.executable} hostile.py"


@contextmanager
def as_function(folder):
    (folder / "hostile.py").write_text(HOSTILE + FUNCTION, encoding="utf-8")
    yield "python:hostile:reply"


def left_over(token):
    """Return the processes that still carry the test's own environment variable."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get("H0STILE") == token:
                found.append(process.cmdline())
        except psutil.Error:
            continue
    return found


def strict(text):
    """Parse JSON as the standard has it: no NaN, no Infinity."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@pytest.mark.parametrize("kind", [over_http, as_command, as_function])
def test_a_hostile_agent_is_bounded_recorded_and_stops_nothing(pytester, monkeypatch, kind):
    """Hangs, floods, forks and broken JSON cost their own episodes; nothing is left running and no script gets out."""
    token = os.urandom(8).hex()
    monkeypatch.setenv("H0STILE", token)
    project(pytester, ENDINGS)
    (pytester.path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    with kind(pytester.path) as agent:
        begin = time.monotonic()
        run = start(
            pytester,
            f"--supportbench-agent={agent}",
            f"--supportbench-timeout={LIMIT}",
            "--html=report.html",
            "--self-contained-html",
            "--junitxml=report.xml",
        )
        out, err = run.communicate(timeout=60)
        seconds = time.monotonic() - begin
    assert run.returncode == 1, out + err
    assert seconds < 45
    recorded = last_run(pytester)
    endings = {int(line["scenario"][3:]): line["ending"] for line in recorded.episodes}
    assert endings == ENDINGS
    assert {int(line["scenario"][3:]) for line in recorded.episodes if line["verdict"] == "passed"} == PASSED
    assert recorded.summary is not None
    for file in (pytester.path / ".supportbench" / "runs").glob("*.jsonl"):
        lines = file.read_bytes()
        assert len(lines) < 300_000
        assert [strict(line) for line in lines.decode().splitlines()]
    html = (pytester.path / "report.html").read_text(encoding="utf-8")
    assert "h0stile" in str(html_reports.read(pytester.path / "report.html").stories)
    assert SCRIPT not in html
    assert "\x1b[2J" not in out
    assert (pytester.path / "threads.txt").read_text().split() == []
    assert left_over(token) == []


HARM = """
import asyncio, json, re, sys, time

GOOD = {"action": "answer", "message": "We are open from nine to five."}

class Own(BaseException):
    pass

def case_of(observation):
    return int(re.search(r"case (\\d+)", observation.customer.message)[1])

def harm(case):
    if case == 2:
        import pytest
        pytest.skip("not today")
    if case == 3:
        raise Own("not of the usual kind")
    if case == 4:
        raise asyncio.CancelledError
    if case == 5:
        sys.stdout.close()
        sys.stderr.close()
    if case == 6:
        del sys.stdout.write
        del sys.stdout.close
    if case == 7:
        json.dumps = lambda *_, **__: "{}"
        json.loads = lambda *_, **__: {}
    if case == 8:
        time.perf_counter = time.monotonic = time.time = lambda: 0.0

def plain(observation):
    harm(case_of(observation))
    return GOOD

async def interrupt():
    raise KeyboardInterrupt

async def later(observation):
    await asyncio.sleep(0.01)
    case = case_of(observation)
    harm(case)
    if case == 9:
        asyncio.current_task().cancel()
        await asyncio.sleep(1)
    if case == 10:
        asyncio.get_running_loop().stop()
    if case == 11:
        asyncio.x = asyncio.create_task(interrupt())
        await asyncio.sleep(0.05)
    if case == 12:
        time.sleep(8)
    return GOOD

async def good(observation):
    await asyncio.sleep(0.01)
    return GOOD
"""
"""Agents that do in some cases what would harm a run in which they are not alone."""

HARMED = {"plain": {2, 3, 4}, "later": {2, 3, 4, 9, 12}}


@pytest.mark.parametrize("name", HARMED)
def test_what_a_function_does_to_the_process_costs_its_own_episodes_only(pytester, name):
    """Outcomes of pytest, exceptions of any kind, closed streams, stopped clocks and loops hit no other episode."""
    project(pytester, range(1, 15))
    (pytester.path / "harmful.py").write_text(HARM, encoding="utf-8")
    run = start(
        pytester,
        f"--supportbench-agent=python:harmful:{name}",
        "--supportbench-agent=python:harmful:good",
        f"--supportbench-timeout={LIMIT}",
        "--junitxml=report.xml",
    )
    out, err = run.communicate(timeout=90)
    assert run.returncode == 1, out + err
    recorded = last_run(pytester)
    verdicts = {(line["agent"], int(line["scenario"][3:])): line["verdict"] for line in recorded.episodes}
    assert len(verdicts) == len(recorded.episodes) == 28
    failed = {key for key, verdict in verdicts.items() if verdict != "passed"}
    assert failed == {(f"python-harmful-{name}", case) for case in HARMED[name]}
    assert recorded.summary is not None
    assert (pytester.path / "report.xml").is_file()
    assert "INTERNALERROR" not in out + err
