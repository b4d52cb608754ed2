"""``openai:MODEL``: a model on any server that speaks OpenAI's chat completions, with the official client."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents.base import JSON, BaseAgent, sha256
from pytest_supportbench.agents.native_tools import Answer, Question, reply_with_tools, tools_prompt
from pytest_supportbench.agents.prompting import default_prompt, render
from pytest_supportbench.agents.retries import DEFAULT_RETRIES, Waits, retried
from pytest_supportbench.agents.servers import server_of
from pytest_supportbench.agents.strict_schema import strict, without_nulls
from pytest_supportbench.agents.turn_schema import turn_schema
from pytest_supportbench.clock import now
from pytest_supportbench.errors import AgentFailure, UsageError
from pytest_supportbench.protocol import Observation, Reply

if TYPE_CHECKING:
    from pathlib import Path

    import openai

    from pytest_supportbench.agents.base import Case
    from pytest_supportbench.agents.openai_answers import Completion
    from pytest_supportbench.agents.spec import AgentSpec

CONNECT_SECONDS: Final = 5.0
CHECK_SECONDS: Final = 10.0
"""The longest wait for the list of models."""

MAX_LISTED: Final = 5

_UNAUTHORISED: Final = 401
_FATAL: Final = frozenset(
    {"bad_address", "connection_lost", "connection_refused", "time_out", "tls_refused", "unknown_host"}
)
"""What the list of models can fail with that a chat would fail with too; servers without such a list are many."""

_REFUSES_OTHERS: Final = frozenset({"vllm"})
"""Owners of listed models whose servers refuse a model that they do not list. llama.cpp answers to any name."""


class OpenAIAgent(BaseAgent):
    """Asks one model, with temperature 0 and a fixed seed unless the options say otherwise.

    Raises `UsageError` where the ``openai`` package is missing or the base URL is no address. A key that is missing
    is reported when the server is first asked, so that stored replies play without it.
    """

    def __init__(self, spec: AgentSpec, root: Path) -> None:
        super().__init__(spec, root)
        try:
            # These import the optional client.
            from pytest_supportbench.agents import openai_access, openai_answers, openai_causes, openai_faults  # noqa: PLC0415
        except ImportError as error:
            msg = f"agent {spec.raw!r} needs the package {error.name or 'openai'!r}"
            raise UsageError(f'{msg}; run: pip install "pytest-supportbench[openai]"') from None
        self._faults, self._answers, self._connect = openai_faults, openai_answers, openai_access.connect
        self._refuse_missing = openai_access.refuse_missing
        self._access = openai_access.access_of(spec)
        self.host = server_of(self._access.url)
        self._mode: str = spec.option("mode", "schema")
        self._prompt = spec.prompt or (tools_prompt() if self._mode == "tools" else default_prompt())
        self._timeout: float = spec.option("timeout", 120.0)
        self._retries: int = spec.option("retries", DEFAULT_RETRIES)
        own = self._access.is_openai
        # OpenAI's own models refuse the old name of the limit, and know no schema with lengths where it is enforced.
        # Other servers enforce any schema, need those lengths, and do not all know the new name.
        self._strict: bool = spec.option("strict", own)
        self._token_field: str = spec.option("token_field", "max_completion_tokens" if own else "max_tokens")
        self._omit = frozenset(str(spec.option("omit", "")).split(","))
        self._options: dict[str, Any] = {
            "max_tokens": spec.option("max_tokens", 1024),
            "temperature": spec.option("temperature", 0.0),
            "seed": spec.option("seed", 7),
        }
        self._effort: str | None = spec.option("reasoning_effort", None)
        self._prices = openai_answers.Prices(*(_price(spec, f"{name}_price") for name in ("input", "output")))
        sent = [self._access.key_env] if self._access.key else [variable for _, variable in spec.headers]
        self._place = openai_causes.Place(
            address=self._access.shown,
            model=spec.target,
            timeout=self._timeout,
            key_env=" and ".join(sent) or self._access.key_env,
            key_sent=bool(sent),
            max_tokens=self._options["max_tokens"],
            token_field=self._token_field,
        )
        self._client: openai.OpenAI | None = None
        self._served: dict[str, JSON] = {"served_model": None, "system_fingerprint": None}

    def secrets(self) -> tuple[str, ...]:
        """Return the key, header values, and the password and query of the base URL."""
        return self._access.secrets()

    def check(self) -> None:
        """Reach the server and find the model where the server lists its models.

        Raises `UsageError` for a missing key, and `InfrastructureError` where nothing answers, the key is refused or
        the model is certainly not there. A server without such a list passes.
        """
        models: Any = self._open().models.with_raw_response
        try:
            body = json.loads(models.list(timeout=self._limits(CHECK_SECONDS)).http_response.content)
        except self._faults.FAULTS as error:
            found = self._faults.explain(error, self._place)
            said = self._faults.said_by(error)
            if (said and said.status == _UNAUTHORISED) or (said is None and found.cause in _FATAL):
                raise found from error
            return
        self._look_for_model(body.get("data") if isinstance(body, dict) else None)

    def _look_for_model(self, listed: Any) -> None:
        models = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        names = [name for item in models if isinstance(name := item.get("id"), str)]
        certain = self._access.is_openai or any(item.get("owned_by") in _REFUSES_OTHERS for item in models)
        if names and certain and self.spec.target not in names:
            near = difflib.get_close_matches(self.spec.target, names, n=MAX_LISTED) or names[:MAX_LISTED]
            raise self._faults.fault("model_missing", f"it has {', '.join(near)}", self._place)

    def fingerprint(self) -> dict[str, JSON]:
        """Return kind, model, host, what the last answer said served it, prompt hash, mode, options and seed."""
        sent = {name: value for name, value in self._options.items() if name not in self._omit}
        return {
            "kind": "openai",
            "model": self.spec.target,
            **self._served,
            "host": self._access.shown,
            "prompt_sha256": sha256(self._prompt),
            "prompt_path": self.spec.prompt_path,
            "mode": self._mode,
            "options": {
                **sent,
                "reasoning_effort": self._effort,
                "strict": self._strict,
                "token_field": self._token_field,
            },
            "seed": sent.get("seed"),
        }

    def asker(self, case: Case) -> Callable[[Observation], Reply]:
        """Return what replies in one episode: no pause and no request outlasts its time limit."""
        return partial(self._reply, time_left=case.time_left, waits=case.waits)

    def reply(self, observation: Observation, /) -> Reply:
        """Return the model's turn, unparsed, with its tokens and their cost.

        What is no turn goes back as it is: that is the model's own mistake. Raises `InfrastructureError` where the
        server failed, cut the answer or withheld it.
        """
        return self._reply(observation)

    def _reply(
        self,
        observation: Observation,
        *,
        time_left: Callable[[], float] | None = None,
        waits: Waits | None = None,
    ) -> Reply:
        ask = partial(self._ask, time_left=time_left, waits=waits)
        if self._mode == "tools":
            return reply_with_tools(observation, self._prompt, ask, "openai")
        messages = [{**message} for message in render(observation, self._prompt)]
        answer = ask(Question(messages, turn_schema(observation)))
        if self._strict and answer.unreadable is None:
            return Reply(turn=without_nulls(answer.text, observation), usage=answer.usage)
        return Reply(turn=answer.turn, usage=answer.usage)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()

    def _ask(
        self,
        question: Question,
        /,
        *,
        time_left: Callable[[], float] | None,
        waits: Waits | None,
    ) -> Answer:
        body = self._body(question)
        completions: Any = self._open().chat.completions.with_raw_response

        def attempt() -> Completion:
            seconds = self._timeout if time_left is None else min(self._timeout, time_left())
            start = now()
            try:
                response = completions.create(**body, timeout=self._limits(seconds))
            except self._faults.FAULTS as error:
                own = self._faults.malformed_by(error)
                if own is not None:
                    unread: Completion = self._answers.unread(own)
                    return unread
                if time_left is not None and time_left() == 0:
                    waited = f"{self._place.address} had not answered after {now() - start:.1f} s"
                    raise AgentFailure(f"{waited} when the time of the episode was over") from error
                raise self._faults.to_raise(error, self._place) from error
            data: bytes = response.http_response.content
            completion: Completion = self._answers.read(data, self._place, self._prices)
            return completion

        completion, retries = retried(attempt, retries=self._retries, time_left=time_left, waits=waits)
        answer = completion.answer
        if completion.model or answer.unreadable is None:
            self._served = {
                "served_model": completion.model,
                "system_fingerprint": completion.system_fingerprint,
            }
        usage = answer.usage.model_copy(update={"retries": retries})
        return Answer(answer.text, usage, answer.calls, answer.unreadable)

    def _body(self, question: Question) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.spec.target, "messages": question.messages}
        names = {"max_tokens": self._token_field}
        body |= {
            names.get(name, name): value for name, value in self._options.items() if name not in self._omit
        }
        if self._effort is not None:
            body["reasoning_effort"] = self._effort
        if question.tools:
            body["tools"] = question.tools
        if question.schema is not None:
            schema = strict(question.schema) if self._strict else question.schema
            described = {"name": "turn", "schema": schema, "strict": self._strict}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        return body

    def _open(self) -> openai.OpenAI:
        if self._client is None:
            self._refuse_missing(self._access, self.spec.raw)
            self._client = self._connect(self._access, self._limits(self._timeout))
        return self._client

    def _limits(self, seconds: float) -> openai.Timeout:
        import openai  # noqa: PLC0415 - optional

        seconds = max(min(seconds, self._timeout), 0.001)
        return openai.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))


def _price(spec: AgentSpec, name: str) -> Decimal | None:
    value = spec.option(name, None)
    return None if value is None else Decimal(str(value))
