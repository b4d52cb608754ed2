"""What a run under pytest shows and stores of secrets that an agent lets out: nothing."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from fake_openai import FakeOpenAI
from projects import agent, project, start

KEY = "Zq/x7+Kw0pLm/TtR9vBn3"

AGENTS = """
import logging
import threading
import warnings

KEY = os.environ["DESK_API_KEY"]


def printing(observation):
    print("printed", KEY)
    sys.stderr.write("in parts " + KEY[:9])
    sys.stderr.write(KEY[9:] + "\\n")
    try:
        raise ValueError(KEY)
    except ValueError:
        logging.getLogger("desk").exception("logged %s", KEY)
    warnings.warn("warned " + KEY)
    return GOOD


def threaded(observation):
    thread = threading.Thread(target=lambda: print("printed", KEY))
    thread.start()
    thread.join()
    os.system('echo "printed $DESK_API_KEY"')
    return BAD


class Checked:
    def __init__(self):
        logging.getLogger("desk").warning("made with %s", KEY)

    def reply(self, observation):
        thread = threading.Thread(target=lambda: logging.getLogger("desk").warning("thread logged %s", KEY))
        thread.start()
        thread.join()
        return GOOD


def crashing(observation):
    raise KeyboardInterrupt("crashed with " + KEY)


class Desk:
    def __init__(self, **options):
        self.options = options

    def reply(self, observation):
        return GOOD


def factory(**options):
    raise ValueError(f"made with {options} and {KEY}")


def customer(brief):
    print("printed", KEY)
    return "Nothing else."


def asking(observation):
    if observation.transcript:
        return GOOD
    return {"action": "ask_for_information", "message": "Which number?", "asks_for": ["order_id"]}
"""


@pytest.fixture
def kept(pytester, monkeypatch):
    """Return a function that runs the project's agents in a process of its own, and gives all that came of it."""
    monkeypatch.setenv("DESK_API_KEY", KEY)
    project(pytester, agents=AGENTS)

    def run(*args):
        files = ("--junitxml=junit.xml", "--log-file=log.txt", "--supportbench-results=results.jsonl")
        process = start(pytester, "-p", "no:randomly", "-rA", *files, *args)
        shown = "".join(part or "" for part in process.communicate())
        stored = [
            (pytester.path / name).read_text(encoding="utf-8")
            for name in ("junit.xml", "log.txt", "results.jsonl")
            if (pytester.path / name).exists()
        ]
        return "\n".join([shown, *stored])

    return run


@pytest.mark.parametrize("ways", [(), ("-s",), ("-s", "--log-cli-level=INFO")])
def test_what_an_agent_prints_logs_and_warns_of_is_blanked(kept, ways):
    """Output is shown without secrets whether it is captured or comes at once, and logs and warnings likewise."""
    text = kept(agent("printing"), *ways)
    assert "printed ***" in text
    assert "logged ***" in text
    assert "warned ***" in text
    assert KEY[:9] not in text


def test_what_is_logged_beside_episodes_is_blanked(kept):
    """An agent logs while it is made, and its threads log: log files hold no secret of that."""
    text = kept(agent("Checked"), "--log-file-level=INFO")
    assert text.count("made with ***") > 0
    assert text.count("thread logged ***") > 0
    assert KEY not in text


def test_the_checks_of_further_agents_log_no_secret(kept):
    """The first result asks the servers of all agents; their clients log addresses with passwords and tokens."""
    with FakeOpenAI(lambda _: '{"action": "answer", "message": "From nine to five."}') as server:
        address = server.url.replace("//", "//bob:pa%2Fss-w0rd9@")
        specs = [
            f"--supportbench-agent=openai:{name}?base_url={quote(address, safe='')}%3Ftoken%3DQtok%252F88zz9"
            for name in ("m", "n")
        ]
        server.models = {"data": [{"id": "m"}, {"id": "n"}]}
        text = kept(*specs, "--log-file-level=INFO")
    assert "token=***" in text
    assert not [secret for secret in ("pa%2Fss", "pa/ss", "Qtok") if secret in text]


def test_captured_output_of_threads_and_programs_is_blanked(kept):
    """What an agent's threads and the programs it starts write is captured by pytest, and blanked in its report."""
    text = kept(agent("threaded"))
    assert "printed ***" in text
    assert KEY not in text


@pytest.mark.parametrize("way", ["-s", "-q"])
def test_an_exception_that_would_end_the_run_is_blanked(kept, way):
    """An agent that raises an interrupt of its own has failed, and its text holds no secret."""
    text = kept(agent("crashing"), way)
    assert "crashed with ***" in text
    assert KEY not in text


def test_a_factory_that_fails_tells_no_secret(kept):
    """What the user's code says where the agent is made is blanked, secret options included."""
    text = kept(f"{agent('factory')}?api_key=s3cretOption99")
    assert "made with" in text
    assert "s3cretOption99" not in text
    assert KEY not in text


def test_a_fingerprint_holds_no_secret(kept):
    """The run's first line says what an agent is, without values that are secret elsewhere."""
    text = kept(f"{agent('Desk')}?label={KEY.replace('+', '%2B')}")
    assert '"label":"***"' in text.replace(": ", ":")
    assert KEY not in text


@pytest.mark.parametrize("way", ["-s", "-q"])
def test_what_a_simulated_customer_prints_is_blanked(kept, way):
    """A customer's function runs in a thread of its own, and its output belongs to the episode."""
    text = kept(agent("asking"), "--supportbench-customer=python:desk_agents:customer", way)
    assert "printed ***" in text
    assert KEY not in text
