"""Behaviour of ``command:…`` with real processes."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from agent_samples import observation
from projects import last_run, project, start, verdicts

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.agents.base import Case
from pytest_supportbench.agents.processes import MARK, STDERR_CHARS
from pytest_supportbench.agents.wire import limited
from pytest_supportbench.errors import AgentFailure, InfrastructureError
from pytest_supportbench.protocol import Observation, Reply, Turn, Unreadable, Usage
from pytest_supportbench.replies import parse_turn

GOOD = {"action": "answer", "message": "We are open from nine to five."}
PYTHON = sys.executable

ECHO = """
    import json, os, sys
    for line in sys.stdin:
        seen = json.loads(line)
        print(json.dumps({"action": "answer", "message": f"{os.getpid()} {seen['customer']['message']}"}), flush=True)
"""
"""A well-behaved agent: its message is its process id and what the customer said."""


@pytest.fixture
def make(tmp_path):
    """Make agents of a program's text, or of a whole command, and close them afterwards."""
    made = []

    def make(program=None, command=None):
        if program is not None:
            (tmp_path / "bot.py").write_text(textwrap.dedent(program), encoding="utf-8")
        spec = parse_spec(f"command:{command or f'{PYTHON} bot.py'}", tmp_path)
        made.append(make_agent(spec, tmp_path))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


def asked(agent, seconds=30.0, said="Hello"):
    """Return what the agent replies in an episode that has so many seconds left."""
    seen = observation(customer={"message": said})
    return agent.asker(Case("desk", "TB-001", 1, None, limited(seconds)))(seen)


def message_of(reply):
    return parse_turn(reply).message


def failure_of(agent, seconds=30.0):
    with pytest.raises(AgentFailure) as caught:
        asked(agent, seconds)
    return str(caught.value)


def error_of(agent):
    with pytest.raises(InfrastructureError) as caught:
        asked(agent)
    assert caught.value.remedy
    return caught.value


def marked(agent):
    """Return the processes that an agent started, directly or not, and that still run."""
    found = []
    for process in psutil.process_iter():
        try:
            alive = process.status() != psutil.STATUS_ZOMBIE
            if alive and process.environ().get(MARK, "").startswith(agent._mark):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_one_process_answers_line_by_line(make):
    """The program is started once, and gets each observation as one line of ASCII JSON."""
    agent = make(ECHO)
    replies = [message_of(asked(agent, said=said)).split(" ", 1) for said in ("Où?\n\u2028", "b", "c")]
    assert [said for _, said in replies] == ["Où?\n\u2028", "b", "c"]
    assert len({process for process, _ in replies}) == 1


def test_the_line_is_the_published_observation(make):
    """What the program reads is an observation of the published shape, without ``mcp`` unless asked for."""
    agent = make("""
        import json, sys
        for line in sys.stdin:
            print(json.dumps({"action": "answer", "message": line.strip()}), flush=True)
    """)
    said = json.loads(message_of(asked(agent, said="Hi")))
    assert Observation.model_validate(said) == observation(customer={"message": "Hi"})
    assert "mcp" not in said


def test_usage_beside_the_turn_is_reported(make):
    """A program may report tokens beside the turn, as an HTTP agent may."""
    line = json.dumps({"turn": GOOD, "usage": {"prompt_tokens": 7}})
    reply = asked(make(f"import sys\nfor _ in sys.stdin: print({line!r}, flush=True)"))
    assert reply == Reply(turn=GOOD, usage=Usage(prompt_tokens=7))


def test_the_command_is_split_and_given_to_no_shell(make, tmp_path):
    """Quotation marks group words; nothing is expanded, and no shell runs."""
    (tmp_path / "args.py").write_text(
        "import json, sys\nfor _ in sys.stdin:"
        " print(json.dumps({'action': 'answer', 'message': repr(sys.argv[1:])}), flush=True)"
    )
    agent = make(command=f"{PYTHON} args.py 'a b' $HOME '; touch hacked' *")
    assert message_of(asked(agent)) == repr(["a b", "$HOME", "; touch hacked", "*"])
    assert not (tmp_path / "hacked").exists()


def test_the_program_runs_in_the_root_directory_with_the_environment(make, tmp_path, monkeypatch):
    """Relative paths are taken from the root directory, and environment variables reach the program."""
    monkeypatch.setenv("DESK_MOOD", "kind")
    agent = make("""
        import json, os, sys
        for _ in sys.stdin:
            print(json.dumps({"message": os.getcwd() + " " + os.environ["DESK_MOOD"]}), flush=True)
    """)
    assert message_of(asked(agent)) == f"{tmp_path} kind"


def test_blank_lines_and_windows_line_ends_are_no_replies(make):
    """Empty lines before the answer are skipped, and a carriage return belongs to the line end."""
    agent = make("""
        import json, sys
        for _ in sys.stdin:
            sys.stdout.write("\\n \\r\\n" + json.dumps({"action": "answer"}) + "\\r\\n")
            sys.stdout.flush()
    """)
    assert [parse_turn(asked(agent)).action for _ in range(3)] == ["answer"] * 3


def test_a_program_that_answers_once_is_started_for_each_request(make):
    """A program that reads a line, answers and ends works too, even without a last line end."""
    agent = make(f"""
        import sys
        sys.stdin.readline()
        sys.stdout.write('{json.dumps(GOOD)}')
    """)
    for _ in range(5):
        assert parse_turn(asked(agent)) == Turn.model_validate(GOOD)


def test_a_process_that_ends_between_requests_is_replaced(make):
    """A program that ends after some answers is started again, whether that was noticed before or too late."""
    agent = make("""
        import json, os, sys, time
        for number, _ in enumerate(sys.stdin, 1):
            print(json.dumps({"action": "answer", "message": str(os.getpid())}), flush=True)
            if number == 2:
                time.sleep(0.1)
                sys.exit(3)
    """)
    seen = []
    for pause in (0, 0, 0, 0, 0.5, 0.5):
        seen.append(message_of(asked(agent)))
        time.sleep(pause)
    assert seen[0] == seen[1] != seen[2] == seen[3] != seen[4]


def test_a_crash_is_the_agents_failure_with_status_and_stderr(make):
    """A program that dies on a request failed: with its exit status, and the end of what it complained about."""
    agent = make("""
        import sys
        for line in sys.stdin:
            print("thinking", file=sys.stderr)
            raise ValueError("no such customer")
    """)
    text = failure_of(agent)
    assert "ended with status 1 before it answered" in text
    assert "standard error:\nthinking\n" in text
    assert text.endswith("ValueError: no such customer")
    assert failure_of(agent) == text


def test_a_killed_process_is_named_by_its_signal(make):
    """A program that a signal ended says which one."""
    text = failure_of(make("import os, sys\nsys.stdin.readline()\nos.kill(os.getpid(), 9)"))
    assert "was ended by SIGKILL before it answered" in text


def test_a_process_that_closes_its_output_failed(make):
    """A program that runs on with its output closed can answer nothing more: it failed, and is ended."""
    agent = make("import os, sys, time\nsys.stdin.readline()\nos.close(1)\ntime.sleep(60)")
    assert "closed its standard output before it answered" in failure_of(agent)
    assert marked(agent) == []


def test_half_an_answer_is_no_answer(make):
    """A line that a crash cut short is not taken for the reply."""
    agent = make("""
        import sys
        sys.stdin.readline()
        sys.stdout.write('{"action": "answer"}')
        sys.stdout.flush()
        sys.exit(2)
    """)
    assert "ended with status 2" in failure_of(agent)


def test_a_program_that_dies_before_it_reads_says_nothing_about_the_agent(make):
    """A wrong file name or a missing module is a mistake of the set-up: an error with what the program said."""
    error = error_of(make(command=f"{PYTHON} missing.py"))
    assert error.cause == "died_at_start"
    assert "missing.py" in error.message
    assert "run it by hand" in error.remedy
    error = error_of(make("import no_such_module\n"))
    assert "ModuleNotFoundError: No module named 'no_such_module'" in error.message


def test_a_program_that_is_not_there_is_found_by_the_check(make, tmp_path):
    """The check names a program that is missing, not on PATH, or not executable, with what to write instead."""
    (tmp_path / "plain.py").write_text("print()")
    (tmp_path / "odd").write_text("print()")
    (tmp_path / "odd").chmod(0o755)
    for command, cause, remedy in (
        ("no-such-program --flag", "command_not_found", "install the program"),
        ("./no-such-program", "command_not_found", "install the program"),
        ("plain.py", "command_not_found", "write ./plain.py"),
        ("./plain.py", "not_executable", "chmod +x ./plain.py"),
    ):
        with pytest.raises(InfrastructureError, match=r"no program|executable") as caught:
            make(command=command).check()
        assert caught.value.cause == cause
        assert remedy in caught.value.remedy
    agent = make(command="./odd")
    agent.check()
    error = error_of(agent)
    assert error.cause == "not_executable"
    assert "#!" in error.remedy


def test_a_hung_process_is_killed_at_the_limit_and_the_next_episode_has_a_new_one(make):
    """At the episode's limit the process is ended, the failure speaks of flushing, and the next one starts afresh."""
    agent = make("""
        import json, sys, time
        for line in sys.stdin:
            print("working", file=sys.stderr, flush=True)
            if "STAND STILL" in line:
                sys.stdout = open(sys.stdout.fileno(), "w", buffering=8192)
                print('{"action": "answer"}')  # without a flush, so that it stays in the buffer
                time.sleep(60)
            print('{"action": "answer"}', flush=True)
    """)
    asked(agent)
    (first,) = marked(agent)
    begin = time.monotonic()
    with pytest.raises(AgentFailure, match=r"no line within 0\.5 s; .*flush=True") as caught:
        asked(agent, 0.5, "STAND STILL")
    assert time.monotonic() - begin < 3
    assert "standard error:\nworking" in str(caught.value)
    assert marked(agent) == []
    assert parse_turn(asked(agent)).action == "answer"
    assert marked(agent) != [first]


def test_a_process_that_reads_nothing_is_killed_at_the_limit(make):
    """An observation larger than a pipe holds does not block longer than the limit."""
    agent = make("import time\ntime.sleep(60)")
    begin = time.monotonic()
    with pytest.raises(AgentFailure, match="no line"):
        asked(agent, 0.5, "x" * 500_000)
    assert time.monotonic() - begin < 3


@pytest.mark.parametrize(
    "write", ["b'x' * 100_000", "(b'{}' + b' ' * 999 + b'\\n') * 100"], ids=["one line", "many lines"]
)
def test_a_flood_is_cut_and_ends_the_process(make, write):
    """Of 100 MB about one is read; the reply is invalid with an excerpt, and the process is gone."""
    agent = make(f"""
        import sys
        sys.stdin.readline()
        for _ in range(1_000):
            sys.stdout.buffer.write({write})
            sys.stdout.flush()
    """)
    before = psutil.Process().memory_info().rss
    reply = asked(agent)
    assert isinstance(reply, Unreadable)
    assert "more than" in reply.reason
    assert 0 < len(reply.excerpt) <= 2_000
    assert marked(agent) == []
    assert psutil.Process().memory_info().rss - before < 20_000_000


def test_standard_error_is_kept_to_its_end(make, capsys):
    """A program that floods standard error blocks nobody; the last 20,000 characters are kept and shown."""
    agent = make(f"""
        import sys
        for _ in sys.stdin:
            for number in range(20_000):
                print("x" * 99, file=sys.stderr)
            print("the end", file=sys.stderr, flush=True)
            print('{json.dumps(GOOD)}', flush=True)
    """)
    asked(agent)
    shown = capsys.readouterr().err
    assert shown.endswith("the end\n")
    assert len(shown) == STDERR_CHARS


@pytest.mark.parametrize("pause", [0, 0.1])
def test_lines_that_nobody_asked_for_are_never_taken_for_the_next_answer(make, pause):
    """A second line is the agent's mistake, named in an invalid reply; a fresh process answers the next request."""
    agent = make(f"""
        import json, sys, time
        for line in sys.stdin:
            said = json.loads(line)["customer"]["message"]
            time.sleep(0.05)
            print(json.dumps({{"action": "answer", "message": said}}), flush=True)
            if said == "talkative":
                time.sleep({pause})
                print(json.dumps({{"action": "decline", "message": "stale"}}), flush=True)
    """)
    first = asked(agent, said="talkative")
    time.sleep(0.3)
    if pause:
        assert message_of(first) == "talkative"
        first = asked(agent, said="next")
    assert isinstance(first, Unreadable)
    assert "stale" in first.reason
    assert "standard error" in first.reason
    assert message_of(asked(agent, said="after")) == "after"


@pytest.mark.parametrize("late", [0.02, 0.05, 0.15])
def test_a_late_line_of_one_episode_is_never_charged_to_another(make, late, capsys):
    """A second line that comes late, even while the next episode asks, costs nobody but the process that wrote it."""
    agent = make(f"""
        import json, sys, time
        for line in sys.stdin:
            said = json.loads(line)["customer"]["message"]
            time.sleep(0.1)
            print(json.dumps({{"action": "answer", "message": said}}), flush=True)
            if said == "three":
                time.sleep({late})
                print(json.dumps({{"action": "decline", "message": "stale"}}), flush=True)
    """)
    for said in ("two", "three", "four", "five", "six"):
        seen = observation(customer={"message": said}, episode=said)
        reply = agent.asker(Case("desk", said, 1, None, limited(30)))(seen)
        assert message_of(reply) == said
    assert "a line that nobody asked for" in capsys.readouterr().err
    assert agent._started == 2


def test_a_line_before_the_first_request_is_the_episodes_own_mistake(make):
    """A banner, which nobody asked for, is an invalid reply and no answer."""
    agent = make("""
        import sys
        print("Welcome!", flush=True)
        for line in sys.stdin:
            print("{}", flush=True)
    """)
    reply = asked(agent)
    assert isinstance(reply, Unreadable)
    assert "nobody asked for: 'Welcome!'" in reply.reason


@pytest.mark.parametrize("pause", [0, 0.2])
def test_a_process_that_closed_its_input_after_an_answer_is_replaced(make, pause):
    """What one episode did to its process costs the next one nothing, whether its request was written or not."""
    agent = make(f"""
        import json, os, sys, time
        line = sys.stdin.readline()
        if not {pause}:
            os.close(0)
        print(json.dumps({{"action": "answer", "message": str(os.getpid())}}), flush=True)
        time.sleep({pause})
        if {pause}:
            os.close(0)
        time.sleep(600)
    """)
    first, second = message_of(asked(agent)), message_of(asked(agent, seconds=5))
    assert first != second


def test_a_program_that_closes_its_input_unread_is_no_agent(make):
    """It says so at once, and not at the limit."""
    agent = make("import os, time; os.close(0); time.sleep(600)")
    began = time.monotonic()
    error = error_of(agent)
    assert time.monotonic() - began < 10
    assert (error.cause, "closed its standard input before it read anything" in error.message) == (
        "died_at_start",
        True,
    )


@pytest.mark.parametrize("failing", ["raises", "says so", "says so early"])
def test_a_program_that_takes_a_chunk_for_a_line_is_told(make, failing):
    """One that reads what is there gets no whole request, and hears that it comes in two pieces."""
    agent = make(f"""
        import json, os, time
        while chunk := os.read(0, 1_000_000):
            try:
                json.loads(chunk)
            except ValueError:
                if {failing!r} == "raises":
                    raise
                time.sleep(0.1 * ({failing!r} == "says so"))
                os.write(1, b"no JSON\\n")
                time.sleep(0.5)
    """)
    if failing == "raises":
        said = failure_of(agent)
        assert "ended with status 1" in said
    else:
        reply = asked(agent)
        assert isinstance(reply, Unreadable)
        said = reply.reason
    assert "a request comes in two pieces" in said


def test_a_program_that_reads_json_and_no_lines_can_answer(make):
    """A reader that needs no line end does not answer before the whole request is there."""
    agent = make("""
        import json, os
        data = b""
        while True:
            data += os.read(0, 100_000)
            try:
                said = json.loads(data)["customer"]["message"]
            except ValueError:
                continue
            data = b""
            os.write(1, json.dumps({"action": "answer", "message": said}).encode() + b"\\n")
    """)
    assert [message_of(asked(agent, said=said)) for said in ("one", "two")] == ["one", "two"]


def test_a_process_that_only_waits_to_be_noted_holds_up_no_end(make):
    """A killed daemon that nobody takes note of counts as gone, so that its episode ends in time."""
    agent = make("""
        import os, sys, time
        for line in sys.stdin:
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(60)
                os._exit(0)
            time.sleep(60)
    """)
    begin = time.monotonic()
    failure_of(agent, 0.5)
    assert time.monotonic() - begin < 1.3
    assert marked(agent) == []


def test_ctrl_c_does_not_stop_the_end_of_processes_half_way(make):
    """An interrupt while processes are ended waits until all are gone."""
    agent = make(ECHO)
    asked(agent)
    (process,) = list(agent._all)
    end = process.end

    def interrupted():
        signal.raise_signal(signal.SIGINT)
        return end()

    process.end = interrupted
    agent.close()
    assert marked(agent) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_turn_over_several_lines_is_named(make):
    """Pretty-printed JSON is refused with the advice to write one line."""
    agent = make("""
        import json, sys
        for _ in sys.stdin:
            print(json.dumps({"action": "answer"}, indent=2), flush=True)
    """)
    assert "write one line for each request" in asked(agent).reason


def test_a_line_that_is_not_utf8_is_an_invalid_reply(make):
    """Bytes that are no text cost the reply and not the process."""
    agent = make("""
        import sys
        for _ in sys.stdin:
            sys.stdout.buffer.write(b"\\xff\\xfe\\n")
            sys.stdout.flush()
    """)
    assert asked(agent).reason == "the reply is not UTF-8 (byte 0)"
    (first,) = marked(agent)
    asked(agent)
    assert marked(agent) == [first]


CHILDREN = """
    import os, subprocess, sys, time

    def daemon():
        child = os.fork()
        if child == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(300)
            os._exit(0)
        os.waitpid(child, 0)

    for line in sys.stdin:
        subprocess.Popen(["sleep", "300"])
        subprocess.Popen(["sleep", "301"], start_new_session=True)
        daemon()
        print("started", file=sys.stderr, flush=True)
        if '"message": "hang"' in line:
            time.sleep(300)
        if '"message": "die"' in line:
            sys.exit(1)
        print('{"action": "answer"}', flush=True)
"""


@pytest.mark.parametrize("said", ["hang", "die"])
def test_children_end_with_their_process(make, said):
    """Children, those in other sessions and daemons that left their parent end with a process that failed."""
    agent = make(CHILDREN)
    with pytest.raises(AgentFailure, match="started"):
        asked(agent, 1.5, said)
    assert marked(agent) == []


def test_children_end_with_the_agent(make):
    """``close`` ends a healthy process with everything that it started, and says so to later requests."""
    agent = make(CHILDREN)
    asked(agent)
    assert len(marked(agent)) >= 4
    agent.close()
    assert marked(agent) == []
    assert "the run is over" in failure_of(agent)


def test_a_child_that_holds_the_output_open_delays_nobody(make):
    """A program that ends while its child keeps the pipe open has ended all the same."""
    agent = make("""
        import subprocess, sys
        sys.stdin.readline()
        subprocess.Popen(["sleep", "300"])
        sys.exit(4)
    """)
    begin = time.monotonic()
    assert "ended with status 4" in failure_of(agent)
    assert time.monotonic() - begin < 5


def test_episodes_at_a_time_have_a_process_each(make):
    """Requests that overlap go to processes of their own, which are used again later."""
    agent = make(ECHO.replace("seen =", "import time; time.sleep(0.2); seen ="))
    with ThreadPoolExecutor(4) as pool:
        said = [f"case {number}" for number in range(12)]
        replies = list(pool.map(lambda text: message_of(asked(agent, said=text)).split(" ", 1), said))
    assert [text for _, text in replies] == said
    assert 2 <= len({process for process, _ in replies}) <= 4


def test_no_thread_is_left_behind(make):
    """Closing ends the threads that served the processes."""
    agent = make(ECHO)
    asked(agent)
    agent.close()
    time.sleep(0.05)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("supportbench-_")]


def test_the_fingerprint_has_command_and_files_without_secrets(make, tmp_path):
    """Results say which command and which files ran, and blank what is named like a secret."""
    agent = make(ECHO, command=f"{PYTHON} bot.py --api-key=s3cret-value-1 --token 's3cret-value-2'")
    fingerprint = agent.fingerprint()
    assert list(fingerprint["files_sha256"]) == [PYTHON, "bot.py"] or list(fingerprint["files_sha256"]) == [
        "bot.py"
    ]
    assert fingerprint["command"].endswith("bot.py --api-key=*** --token ***")
    assert agent.secrets() == ("s3cret-value-1", "s3cret-value-2")
    before = fingerprint["files_sha256"]["bot.py"]
    (tmp_path / "bot.py").write_text("changed")
    assert agent.fingerprint()["files_sha256"]["bot.py"] == before, (
        "it is what was there when the agent was made"
    )
    assert make(None, command=f"{PYTHON} bot.py").fingerprint()["files_sha256"]["bot.py"] != before


def test_an_agent_pickles_by_its_spec(make):
    """An agent travels to another process as its spec, and starts processes of its own there."""
    agent = make(ECHO)
    copy = pickle.loads(pickle.dumps(agent))
    assert message_of(asked(copy)).endswith("Hello")
    copy.close()


BOT = """
import json, re, sys, time
for line in sys.stdin:
    case = int(re.search(r"case (\\d+)", json.loads(line)["customer"]["message"])[1])
    print(f"complaint {case}", file=sys.stderr)
    if case == 2:
        time.sleep(300)
    if case == 3:
        raise ValueError("boom")
    answer = {"action": "decline" if case == 4 else "answer", "message": "We are open from nine to five."}
    print(json.dumps(answer), flush=True)
"""


def test_a_run_judges_every_scenario_and_shows_what_the_program_said(pytester, plain):
    """A hang and a crash cost their own episodes only; standard error is in the failure and in its output section."""
    project(pytester, range(1, 6))
    (pytester.path / "bot.py").write_text(BOT)
    result = plain(f"--supportbench-agent=command:{PYTHON} bot.py", "--supportbench-timeout=2")
    result.assert_outcomes(passed=2, failed=3)
    assert result.ret == 1
    run = last_run(pytester)
    assert list(verdicts(run).values()) == ["passed", "failed", "failed", "failed", "passed"]
    endings = {line["scenario"]: line["ending"] for line in run.episodes}
    assert endings == {
        "TB-001": "acted", "TB-002": "time_limit", "TB-003": "agent_failed", "TB-004": "acted", "TB-005": "acted"
    }  # fmt: skip
    result.stdout.fnmatch_lines(
        ["*its limit is 2 s*", "*flush=True*", "*complaint 2*", "*ended with status 1*", "*ValueError: boom*"]
    )
    sections = result.stdout.str().partition("TB-004")[2]
    assert "complaint 4" in sections


@pytest.mark.parametrize(
    ("stop", "seconds"), [("-x", 300), ("SIGINT", 300), ("SIGTERM", 2), ("SIGKILL", 2)], ids=str
)
def test_no_process_outlives_a_run_that_is_stopped(pytester, stop, seconds):
    """``-x`` and Ctrl-C end a process that hangs; one that reads to its end ends by itself when pytest is killed."""
    project(pytester, range(1, 4))
    (pytester.path / "bot.py").write_text(
        f"""
import json, os, sys, time
open("pids", "a").write(f"{{os.getpid()}}\\n")
for line in sys.stdin:
    if "case 2" in line:
        open("hangs", "w").close()
        time.sleep({seconds})
    print(json.dumps({{"action": "decline"}}), flush=True)
"""
    )
    run = start(pytester, f"--supportbench-agent=command:{PYTHON} bot.py", *(["-x"] if stop == "-x" else []))
    hangs = pytester.path / "hangs"
    deadline = time.monotonic() + 20
    while not hangs.exists() and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    if stop != "-x":
        os.kill(run.pid, getattr(signal, stop))
    run.communicate(timeout=20)
    started = [int(pid) for pid in (pytester.path / "pids").read_text().split()]
    assert started
    deadline = time.monotonic() + 5
    while any(map(runs, started)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(runs, started))


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
