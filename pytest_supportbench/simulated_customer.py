"""A customer whose answers a model or the user's own function writes: optional, and not deterministic."""

from __future__ import annotations

import threading
from contextvars import copy_context
from pathlib import Path
from typing import Any, Final

from pytest_supportbench.agents.base import JSON, LiveAgent, known_secrets
from pytest_supportbench.agents.spec import AgentSpec
from pytest_supportbench.asked_agent import AskedAgent, Role, parse_asked
from pytest_supportbench.customer import MAX_ANSWER_CHARS, CustomerBrief
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.executor import DaemonExecutor
from pytest_supportbench.protocol import CustomerView, Observation, Reply
from pytest_supportbench.redaction import Redactor
from pytest_supportbench.replies import InvalidReply, parse_turn

OPTION: Final = "--supportbench-customer"
_ROLE: Final = Role(OPTION, "the customer", "play the customer")

PROMPT: Final = """\
You are a customer who wrote to a company's support desk. You are not the support agent, and you know nothing of the
company's rules and systems.

You get JSON. `customer` has the message that you wrote and what came before it. `account` has what you need for your
answer: `conversation` is what the support agent has written to you since and what you answered, `asked_for` names
what the agent asks for now, and `you_know` has answers that you have.

Answer the agent's last message, in one to three short sentences, in the language of your own message. Say only what
your messages and `you_know` say. If you are asked for something else, say that you do not have it. Never make up a
number, a name, a code or a date, and ask for nothing new.

Write one JSON object: `message` is your answer, `action` is null."""


def parse_customer(text: str, root: Path) -> AgentSpec:
    """Return the spec of a simulated customer: in the form of an agent spec, of a kind that can play one.

    Raises `UsageError`.
    """
    return parse_asked(text, root, _ROLE)


class SimulatedCustomer:
    """Asks a model, or a plain function, for what a customer would say.

    A function is called with a `CustomerBrief` of its own and returns text; blank text says nothing. A model gets the
    same as JSON. The text is cut, cleared of ``secrets``, and never anything but text. What fails here is no failure of
    the agent under test. Nothing is made or asked before the first question.
    """

    def __init__(self, spec: AgentSpec, root: Path, secrets: tuple[str, ...] = ()) -> None:
        self._asked = AskedAgent(spec, root, _ROLE, PROMPT)
        self.spec = self._asked.spec
        self._secrets = secrets
        self._lock = threading.Lock()
        self._executor: DaemonExecutor | None = None

    def ready(self) -> LiveAgent:
        """Return what is asked, made on first use. Raises `UsageError` where it cannot be made."""
        agent = self._asked.ready()
        with self._lock:
            if self._executor is None:
                self._executor = DaemonExecutor(agent.window, "supportbench-customer")
        return agent

    def answer(self, brief: CustomerBrief, seconds: float) -> str:
        """Return the customer's answer, of at most 1,000 characters, within so many seconds.

        Raises `InfrastructureError` whose cause begins with ``customer_``.
        """
        agent = self.ready()
        assert self._executor is not None
        # What it prints belongs to the episode that asks.
        future = self._executor.submit(copy_context().run, self._ask, agent, brief)
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            if not future.cancel():
                self._executor.abandon(future)
            msg = f"the simulated customer took longer than the {seconds:.1f} s that an episode leaves it"
            remedy = "raise --supportbench-timeout, lower --supportbench-concurrency, or take a faster model"
            raise InfrastructureError("customer_time_out", msg, remedy) from None

    def _ask(self, agent: LiveAgent, brief: CustomerBrief) -> str:
        try:
            if self.spec.kind == "python":
                # A function takes whatever it is called with, here a brief in the place of an observation.
                text = _text(agent.reply(brief))  # type: ignore[arg-type]
            else:
                text = _message(agent.reply(as_observation(brief)))
        except InfrastructureError as error:
            raise self._failed(error.cause, error.message, error.remedy) from None
        except BaseException as error:  # noqa: BLE001 - whatever it raises, it is not the agent's doing
            remedy = "mend the function; this says nothing about the agent"
            raise self._failed("failed", str(error) or type(error).__name__, remedy) from None
        clean = str(self._redactor(agent).reply(text.encode("utf-8", "replace").decode())).strip()
        return clean[:MAX_ANSWER_CHARS].rstrip()

    def _failed(self, cause: str, message: str, remedy: str) -> InfrastructureError:
        redactor = self._redactor(self.ready())
        text = redactor.text(f"the simulated customer {self.spec.raw!r}: {message}")
        return InfrastructureError(f"customer_{cause}", text, redactor.text(remedy))

    def _redactor(self, agent: LiveAgent) -> Redactor:
        return Redactor((*self._secrets, *known_secrets(agent)))

    def secrets(self) -> tuple[str, ...]:
        """Return what must not come out of the customer; nothing before it was made."""
        agent = self._asked.made
        return () if agent is None else known_secrets(agent)

    def fingerprint(self) -> dict[str, JSON]:
        """Return what identifies the customer in results, its server asked once; never deterministic."""
        known: dict[str, JSON] = {"id": self.spec.id, "deterministic": False}
        try:
            agent = self.ready()
            agent.check()
        except (InfrastructureError, UsageError) as error:
            return {**known, "unusable": Redactor(self._secrets).text(str(error))}
        said: dict[str, JSON] = self._redactor(agent).reply(agent.fingerprint())
        return {**known, **said}

    def close(self) -> None:
        """Give back what the customer holds; a running call is left to its daemon thread."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown(cancel_futures=True)
        self._asked.close()


def as_observation(brief: CustomerBrief) -> Observation:
    """Return a brief as an observation without tools, actions and policies, so that any model can read it."""
    return Observation(
        as_of="",
        customer=CustomerView(message=brief.message, history=brief.history),
        account={
            "conversation": [message.model_dump() for message in brief.conversation],
            "asked_for": list(brief.asked_for),
            "you_know": brief.facts,
        },
        memory=(),
        policies=(),
        tools=(),
        actions=(),
        slots=(),
        transcript=(),
        turns_left=1,
        episode="customer",
    )


def _text(answer: Any) -> str:
    if answer is None or isinstance(answer, str):
        return answer or ""
    msg = f"the function returned a {type(answer).__name__} and no text"
    raise InfrastructureError("failed", msg, "return a string; an empty one says nothing")


def _message(raw: Any) -> str:
    turn = raw.turn if isinstance(raw, Reply) else raw
    try:
        return parse_turn(turn).message
    except InvalidReply as error:
        msg = f"the model's reply has no message: {error}"
        raise InfrastructureError("invalid_reply", msg, "take a model that keeps to a JSON Schema") from None
