"""Shared by the tests of the framework adapters: modules with agents, episodes, scripted decisions, a model server."""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self

from quiet_server import QuietServer

from pytest_supportbench.agents import make_agent, parse_spec
from pytest_supportbench.event_loops import EventLoops
from pytest_supportbench.loading import BoundScenario, Loader
from pytest_supportbench.records import Limits
from pytest_supportbench.results import Result
from pytest_supportbench.runner import Job, Runner

ROOT = Path(__file__).parent.parent
NAMES = (f"framework_app_{number}" for number in itertools.count())

BUNDLED = (
    "recovery/one-timeout",
    "retrieval/key-in-a-repository",
    "memory/seats-for-the-next-course",
    "memory/second-double-payment",
)
"""Scenarios with a fault, with a hand-off, with a question to the customer, and a plain one."""

ORDERED = (
    "scenarios/tinybench-50/billing/rained-off-workshop",
    "scenarios/tinybench-50/policy-conflicts/half-price-by-phone-later-date",
    "scenarios/tinybench-50/identity-and-permissions/bookkeeper-on-the-profile",
    "examples/airline/the-early-flight",
)
"""Scenarios in which a call must have seen what another one returned, or meets a fault."""

COMPLETION: dict[str, Any] = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}


def bundled(name: str) -> BoundScenario:
    """Load a scenario of tinybench-50."""
    return scenario(f"scenarios/tinybench-50/{name}")


def scenario(path: str) -> BoundScenario:
    """Load a scenario of this repository."""
    return Loader(ROOT).load(ROOT / f"{path}.scenario.yaml")


def ways(bound: BoundScenario) -> dict[str, list[Any]]:
    """Return the reference's decisions as messages of a model: as they are, looked at too late, and all at once.

    A message is a list of calls, a decision, or a list of both.
    """
    steps = decisions(bound)
    calls = [call for step in steps if isinstance(step, list) for call in step]
    return {"in order": steps, "calls at once": [calls, steps[-1]], "all at once": [[*calls, steps[-1]]]}


def plain(steps: list[Any]) -> Any:
    """Return a function that plays messages as turns, over and over, as an agent of the kind ``python``."""
    waiting = itertools.cycle(steps)

    def reply(_observation: Any) -> Any:
        step = next(waiting)
        parts = step if isinstance(step, list) else [step]
        made = [{"tool": part[0], "arguments": part[1]} for part in parts if not isinstance(part, dict)]
        decided = next((part for part in parts if isinstance(part, dict)), {})
        return {**decided, "tool_calls": made}

    return reply


def ended(reason: str, **message: Any) -> dict[str, Any]:
    """Return a chat completion that ended for a reason."""
    said = {"role": "assistant", "content": "", **message}
    return {**COMPLETION, "choices": [{"index": 0, "finish_reason": reason, "message": said}]}


BROKEN_ANSWERS = [
    ("<html>hello</html>", "invalid_response"),
    ("data: {}\n\n", "invalid_response"),
    ({**COMPLETION, "choices": []}, "invalid_response"),
    ({**COMPLETION, "choices": None}, "invalid_response"),
    ({"error": {"message": "upstream overloaded", "code": 502}}, "invalid_response"),
    (ended("length", content='{"action": "ans'), "reply_truncated"),
    (ended("content_filter"), "content_filter"),
    (ended("error"), "reply_incomplete"),
]
"""Answers of status 200 that no model would give."""

OWN_ANSWERS = [ended("stop"), ended("stop", content=None, refusal="I would rather not.")]
"""Answers of status 200 that are no decision, and the model's own."""

REFUSALS = [
    (429, "Please add a payment method: https://platform.openai.com/account/billing", None, "rate_limited"),
    (400, "Invalid schema for function 'get_billing_address'", None, "bad_request"),
    (400, "Invalid schema for function 'get_context_size'", None, "bad_request"),
    (400, "The response was filtered", "content_filter", "content_filter"),
    (429, "Your account is not active", "billing_not_active", "quota_exhausted"),
    (413, "Request too large: tokens per minute", None, "request_too_large"),
]
"""Statuses whose words mislead, with what they are."""


def decisions(bound: BoundScenario) -> list[Any]:
    """Return the reference as an agent with a tool loop plays it: lists of calls, and decisions as mappings.

    A turn's action counts only where the turn ends the episode or asks; before, the results are looked at first.
    """
    steps: list[Any] = []
    last = bound.scenario.reference[-1]
    for turn in bound.scenario.reference:
        if turn.tool_calls:
            steps.append([(call.tool, dict(call.arguments)) for call in turn.tool_calls])
        if turn is last or turn.asks_for:
            steps.append({"action": turn.action, "message": turn.message, "asks_for": list(turn.asks_for)})
    return steps


def app(monkeypatch: Any, **objects: Any) -> str:
    """Put objects into a new module, as an application would have them, and return its name."""
    name = next(NAMES)
    module = types.ModuleType(name)
    vars(module).update(objects)
    monkeypatch.setitem(sys.modules, name, module)
    return name


def run(bound: BoundScenario, spec: str, timeout: float = 60.0, max_turns: int = 6) -> Result:
    """Run one episode as a session does, on a shared event loop."""
    loops = EventLoops()
    agent = make_agent(parse_spec(spec, ROOT), ROOT)
    try:
        runner = Runner({"a": agent}, Limits(max_turns=max_turns, timeout=timeout), loops.wait_for)
        return runner.run(Job(key="k", bound=bound, agent="a", trial=1))
    finally:
        loops.close()


def judged(result: Result) -> dict[str, Any]:
    """Return all that a score says about right and wrong, for comparing two ways to the same decisions."""
    assert result.score is not None, result.episode.error
    checks = {
        f"{name}.{check.id}": check.passed
        for name, dimension in result.score.dimensions.items()
        for check in dimension.checks
    }
    calls = [(call.tool, call.arguments, call.status) for call in result.episode.calls]
    return {
        "checks": checks,
        "escalation": result.score.escalation_class,
        "calls": calls,
        "ending": result.episode.ending,
    }


class ChatServer:
    """A model server with the route of OpenAI's chat completions, on loopback; a context manager.

    ``answers`` are messages (or a status with a body) in order; ``requests`` has what was asked. A message that is a
    callable gets the request's body. Without ``keep_alive`` no connection outlives its answer.
    """

    def __init__(self, *answers: Any, keep_alive: bool = True) -> None:
        self.answers = list(answers)
        self.keep_alive = keep_alive
        self.requests: list[dict[str, Any]] = []
        self.authorisations: list[str | None] = []
        handler = type("Handler", (_Handler,), {"fake": self})
        self._server = QuietServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    fake: ChatServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.fake.requests.append(body)
        self.fake.authorisations.append(self.headers.get("Authorization"))
        answer = self.fake.answers.pop(0) if len(self.fake.answers) > 1 else self.fake.answers[0]
        if isinstance(answer, tuple):
            status, data = answer[0], answer[1]
            data = (data if isinstance(data, str) else json.dumps(data)).encode()
        else:
            message = answer(body) if callable(answer) else answer
            reason = "tool_calls" if message.get("tool_calls") else "stop"
            status = 200
            data = json.dumps(
                {
                    "id": "chatcmpl-1",
                    "object": "chat.completion",
                    "created": 1_700_000_000,
                    "model": "m",
                    "choices": [{"index": 0, "finish_reason": reason, "message": message}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
                }
            ).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if data[:1] == b"<" else "application/json")
        self.send_header("Content-Length", str(len(data)))
        if not self.fake.keep_alive:
            self.send_header("Connection", "close")
        self.end_headers()
        with contextlib.suppress(OSError):  # a client that gave up
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Keep the test output clean."""


def says(text: str) -> dict[str, Any]:
    """Return a model's message of text."""
    return {"role": "assistant", "content": text}


def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a model's message of native tool calls."""
    made = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for number, (name, arguments) in enumerate(wanted)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}
