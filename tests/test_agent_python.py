"""Behaviour of ``python:pkg.mod:callable``."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import pickle
import sys
from pathlib import Path

import pytest
from agent_samples import TOOL_RESULT, observation

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.errors import AgentFailure, UsageError
from pytest_supportbench.protocol import Observation, Reply, Turn, Usage

NUMBERS = itertools.count()

BOT = """
import functools

NOT_CALLABLE = "text"

def reply(observation):
    return {"message": observation.customer.message}

async def areply(observation):
    return {"message": "async"}

def crash(observation):
    helper(observation)

def helper(observation):
    raise ValueError("no such customer " + observation.account["customer"][0]["id"])

async def acrash(observation):
    helper(observation)

def leave(observation):
    raise SystemExit("bye")

def hostile(observation):
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError
    raise Odd

class Own(BaseException):
    pass

def own(observation):
    raise Own("no exception of the usual kind")

def skip(observation):
    import pytest
    pytest.skip("not today")

async def askip(observation):
    skip(observation)

def cancelled(observation):
    import asyncio
    raise asyncio.CancelledError

def closed(observation):
    raise GeneratorExit

def again(observation):
    from pytest_supportbench.errors import InfrastructureError
    raise InfrastructureError("start_again", "once more")

async def amiss(observation):
    from pytest_supportbench.errors import InfrastructureError
    raise InfrastructureError("cassette_miss", "not stored")

def endless(observation):
    raise ValueError("\\ud800" + "x" * 100_000)

def forgetful(observation):
    return areply(observation)

def vandal(observation):
    observation.account.clear()
    observation.tools[0].parameters["properties"].clear()
    observation.transcript[0].tool_calls[0].arguments["customer_id"] = "x"
    observation.transcript[1].result[0]["id"] = "x"
    observation.policies[0].__dict__["text"] = "anything goes"
    return {}

class Agent:
    made = 0

    def __init__(self, tone="plain", limit=0):
        Agent.made += 1
        self.tone = tone
        self.limit = limit

    def reply(self, observation):
        return f"{self.tone} {self.limit!r} {Agent.made}"

    @classmethod
    def loud(cls):
        return cls("loud")

class Callable:
    async def __call__(self, observation):
        return "called"

class Picky:
    def __init__(self):
        raise OSError("no database")

instance = Agent("instance")
partial = functools.partial(lambda tone, observation: tone, "partial")

def factory(*, tone):
    return lambda observation: tone

def nothing():
    return None
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A root directory with a module of a name that no other test has imported."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = f"bot_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(BOT)
    tmp_path.joinpath(f"broken_{name}.py").write_text("import nowhere_at_all\n")
    tmp_path.joinpath(f"odd_{name}.py").write_text("1 / 0\n")
    yield tmp_path, name
    for module in [key for key in sys.modules if key.endswith(name)]:
        del sys.modules[module]


def agent(folder, target, prefix=""):
    root, name = folder
    return make_agent(parse_spec(f"python:{prefix}{name}:{target}", root), root)


def problem(folder, target, prefix=""):
    with pytest.raises(UsageError) as caught:
        agent(folder, target, prefix)
    return str(caught.value)


def test_a_function_is_an_agent(folder):
    """A function gets the observation and its return value comes back as it is."""
    live = agent(folder, "reply")
    live.check()
    assert live.reply(observation()) == {"message": observation().customer.message}
    assert (live.is_async, live.window, live.inline) == (False, 1, False)


@pytest.mark.parametrize(("target", "answer"), [("areply", {"message": "async"}), ("Callable", "called")])
def test_an_async_callable_is_awaited(folder, target, answer):
    """Coroutine functions and objects with an async ``__call__`` are asynchronous, with a wider window."""
    live = agent(folder, target)
    assert (live.is_async, live.window) == (True, 8)
    assert asyncio.run(live.reply(observation())) == answer


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        ("Agent", "plain 0 2"),
        ("Agent?tone=warm&limit=250", "warm 250 2"),
        ("Agent.loud", "loud 0 2"),
        ("instance", "instance 0 1"),
        ("instance.reply", "instance 0 1"),
        ("partial", "partial"),
        ("factory?tone=dry", "dry"),
    ],
)
def test_classes_factories_and_objects_are_agents(folder, target, answer):
    """A class is instantiated once with the options, a factory called once, an object used as it is."""
    live = agent(folder, target)
    assert [live.reply(observation()), live.reply(observation())] == [answer, answer]


def test_an_agent_that_damages_its_observation_hurts_nobody(folder):
    """Each reply gets an observation of its own, down to the last nested value."""
    turn = {"role": "agent", "tool_calls": [{"tool": "list_charges", "arguments": {"customer_id": "cus_1"}}]}
    given = observation(transcript=[turn, TOOL_RESULT])
    before = given.model_dump_json()
    agent(folder, "vandal").reply(given)
    assert given.model_dump_json() == before


def test_the_private_observation_is_equal(folder):
    """What the agent gets equals what the harness has, aliases included."""
    root, name = folder
    (root / f"echo_{name}.py").write_text("def reply(observation):\n    return observation\n")
    seen = agent(folder, "reply", "echo_").reply(observation(transcript=[TOOL_RESULT]))
    assert isinstance(seen, Observation)
    assert seen == observation(transcript=[TOOL_RESULT])


@pytest.mark.parametrize("target", ["crash", "acrash"])
def test_a_crash_is_the_agents_own_failure(folder, target):
    """An exception of the callable is the agent's failure, with the end of the user's own traceback."""
    live = agent(folder, target)
    with pytest.raises(AgentFailure) as caught:
        asyncio.run(live.reply(observation())) if live.is_async else live.reply(observation())
    text = str(caught.value)
    assert text.startswith("ValueError: no such customer cus_1\n")
    assert "in helper" in text
    assert "python_callable.py" not in text


@pytest.mark.parametrize(
    ("target", "fragment"),
    [
        ("leave", "SystemExit: bye"),
        ("hostile", "Odd"),
        ("endless", "ValueError: \\ud800xxx"),
        ("forgetful", "declare it with async def"),
        ("own", "Own: no exception of the usual kind"),
        ("skip", "Skipped: not today"),
        ("askip", "Skipped: not today"),
        ("cancelled", "CancelledError"),
        ("closed", "GeneratorExit"),
        ("again", "the cause 'start_again', which is reserved"),
        ("amiss", "the cause 'cassette_miss', which is reserved"),
    ],
)
def test_odd_failures_are_bounded_failures_too(folder, target, fragment):
    """Exits, exceptions of any kind, endless messages and forgotten awaits are short failures in valid Unicode."""
    live = agent(folder, target)
    with pytest.raises(AgentFailure) as caught:
        asyncio.run(live.reply(observation())) if live.is_async else live.reply(observation())
    text = str(caught.value)
    assert fragment in text
    assert len(text.encode()) < 2_100


@pytest.mark.parametrize(
    ("target", "prefix", "fragments"),
    [
        ("reply", "missing_", ("there is no module 'missing_", "on sys.path or in", "ini option pythonpath")),
        ("reply", "broken_", ("importing 'broken_", "No module named 'nowhere_at_all'", "mend this first")),
        ("reply", "odd_", ("ZeroDivisionError", "1 / 0")),
        ("replyy", "", ("has no 'replyy'; did you mean 'reply'?",)),
        ("zzz", "", ("has no 'zzz'; define it, or name a function",)),
        ("Agent.zzz", "", ("'Agent' has no 'zzz'",)),
        ("NOT_CALLABLE", "", ("is a str, not callable; name a function",)),
        ("nothing", "", ("is a NoneType, not callable",)),
        (
            "reply?tone=warm",
            "",
            ("cannot be called with options (tone)", "takes one observation and no options"),
        ),
        ("Agent?colour=red", "", ("cannot be called with options (colour)", "'colour'")),
        ("instance?tone=warm", "", ("options (tone) go to a class or a factory",)),
        ("factory", "", ("'tone'",)),
        ("Picky", "", ("OSError: no database",)),
    ],
)
def test_a_target_that_cannot_be_used_is_a_usage_error(folder, target, prefix, fragments):
    """A missing module, name or callable, and options that do not fit, say what to do."""
    text = problem(folder, target, prefix)
    for fragment in fragments:
        assert fragment in text


def test_installed_modules_go_before_the_root_directory(folder):
    """A file in the root directory does not shadow a module that Python already finds."""
    root, _ = folder
    (root / "colorsys.py").write_text("def rgb_to_hsv(observation):\n    return 'shadow'\n")
    sys.modules.pop("colorsys", None)
    with pytest.raises(UsageError, match="missing a required"):
        make_agent(parse_spec("python:colorsys:rgb_to_hsv", root), root)


def test_the_fingerprint_changes_with_the_code(folder):
    """The fingerprint has the module file's hash, so that results of other code are told apart."""
    root, name = folder
    fingerprint = agent(folder, "Agent?tone=warm").fingerprint()
    assert fingerprint == {
        "kind": "python",
        "options": {"tone": "warm"},
        "target": f"{name}:Agent",
        "module_sha256": hashlib.sha256((root / f"{name}.py").read_bytes()).hexdigest(),
    }


def test_the_fingerprint_has_the_file_of_a_callable_that_its_module_only_imports(folder):
    """A package may hand on what is written elsewhere; a change there is a change of the agent, decorated or not."""
    root, name = folder
    (root / f"{name}_shop.py").write_text(
        f"import functools\nimport {name}\nfrom {name} import Agent, reply\n"
        f"@functools.wraps({name}.areply)\ndef wrapped(observation):\n    return {name}.reply(observation)\n"
        "def own(observation):\n    return {}\n"
    )
    digest = hashlib.sha256((root / f"{name}.py").read_bytes()).hexdigest()
    for target in ("reply", "wrapped", "Agent"):
        made = make_agent(parse_spec(f"python:{name}_shop:{target}", root), root).fingerprint()
        assert made["code_sha256"] == digest
    assert "code_sha256" not in make_agent(parse_spec(f"python:{name}_shop:own", root), root).fingerprint()


def test_a_module_without_a_file_has_no_hash():
    """A built-in function as an agent has no file to hash."""
    assert (
        make_agent(parse_spec("python:builtins:len", Path()), Path()).fingerprint()["module_sha256"] is None
    )


def test_the_agent_pickles_as_its_spec(folder):
    """An agent sent to another process is imported anew there."""
    assert pickle.loads(pickle.dumps(agent(folder, "reply"))).reply(observation()) != Turn()


@pytest.mark.parametrize(
    "numbers",
    [
        {"prompt_tokens": -500},
        {"completion_tokens": 10**4500},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"cost": "1E+99999999"},
        {"cost": "NaN"},
        {"retries": -1},
    ],
)
def test_a_usage_that_cannot_be_is_refused_where_it_is_made(numbers):
    """What a reply cost is bounded, whoever reports it: by the agent's own code, or left out of a server's answer."""
    with pytest.raises(ValueError, match="validation error for Usage"):
        Usage(**numbers)
    with pytest.raises(ValueError, match="validation error for Reply"):
        Reply(turn={}, usage=Usage.model_construct(**numbers))
    assert Usage.reported(**numbers) == Usage()


def test_a_cost_has_as_many_digits_as_a_price():
    """An exponent does not stand for millions of digits that would have to be written."""
    assert [format(Usage(cost=cost).cost, "f") for cost in ("0.0021", "1E-99999999", "0E+99999999")] == [
        "0.0021",
        "0.000000000",
        "0.000000000",
    ]
