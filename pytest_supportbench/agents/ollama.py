"""``ollama:MODEL``: a model on an Ollama server, constrained to the JSON Schema of a turn, or with native tools."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents.base import JSON, BaseAgent, public_text, sha256
from pytest_supportbench.agents.native_tools import (
    Answer,
    Message,
    NativeCall,
    Question,
    reply_with_tools,
    tools_prompt,
)
from pytest_supportbench.agents.prompting import as_json, default_prompt, render
from pytest_supportbench.agents.retries import DEFAULT_RETRIES, Waits, retried
from pytest_supportbench.agents.servers import ollama_parallel, ollama_server
from pytest_supportbench.agents.turn_schema import turn_schema
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.protocol import Observation, Reply, Unreadable, Usage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import httpx
    import ollama

    from pytest_supportbench.agents.base import Case
    from pytest_supportbench.agents.spec import AgentSpec

CHECK_SECONDS: Final = 10.0
"""The longest wait for the answers that need no model."""

CHARS_PER_TOKEN: Final = 8
"""No tokenizer packs more characters of JSON and prose into a token on average; fewer tokens read than this
means that part of the conversation was not read."""

BYTES_PER_TOKEN: Final = 2
"""The other bound: no text of ours takes more tokens than half its UTF-8 bytes, CJK included."""

_NANOSECONDS: Final = 1e9
_COMPLETE: Final = frozenset({"stop", "tool_calls"})
"""Why a model stops by itself; the second is a word of other servers with Ollama's API."""


class OllamaAgent(BaseAgent):
    """Asks one model, with temperature 0 and a fixed seed unless the options say otherwise.

    ``transport`` replaces the network in tests. Raises `UsageError` where the ``ollama`` package is missing
    or the host is no address.
    """

    queues = True

    def __init__(self, spec: AgentSpec, root: Path, *, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__(spec, root)
        try:
            from pytest_supportbench.agents import ollama_faults  # noqa: PLC0415 - imports the optional client
        except ImportError as error:
            msg = f"agent {spec.raw!r} needs the package {error.name or 'ollama'!r}"
            raise UsageError(f'{msg}; run: pip install "pytest-supportbench[ollama]"') from None
        self._faults = ollama_faults
        self._transport = transport
        self._timeout: float = spec.option("timeout", 120.0)
        self._host: str | None = spec.option("host", None)
        self.host = ollama_server(self._host)
        self.parallel = ollama_parallel(self.host, spec.option("parallel", None))
        self.window = self.parallel or 1
        self._mode: str = spec.option("mode", "schema")
        self._retries: int = spec.option("retries", DEFAULT_RETRIES)
        self._prompt = spec.prompt or (tools_prompt() if self._mode == "tools" else default_prompt())
        self._options: dict[str, Any] = {
            "temperature": spec.option("temperature", 0.0),
            "seed": spec.option("seed", 7),
            "num_ctx": spec.option("num_ctx", 8192),
            "num_predict": spec.option("num_predict", 1024),
        }
        self._think: bool | str | None = {"true": True, "false": False}.get(
            word := spec.option("think", None), word
        )
        self._keep_alive: str = spec.option("keep_alive", "10m")
        shown = public_text(self._host or os.environ.get("OLLAMA_HOST") or "http://127.0.0.1:11434")
        self._place = ollama_faults.Place(str(shown), spec.target, self._timeout)
        self._client = self._connect(self._timeout)
        self._digest: str | None = None
        self._checked = False

    def check(self) -> None:
        """Reach the server, find the model, note its digest and whether it thinks by default.

        Raises `InfrastructureError` within seconds where any of it fails.
        """
        with self._connect(min(self._timeout, CHECK_SECONDS)) as client:
            try:
                models = client.list().models
            except self._faults.FAULTS as error:
                raise self._faults.explain(error, self._place) from error
            names = {self.spec.target.casefold(), f"{self.spec.target}:latest".casefold()}
            found = [model.digest for model in models if (model.model or "").casefold() in names]
            self._digest = found[0] if found else None
            capabilities = self._capabilities(client)
        if self._think is None and "thinking" in capabilities:
            # A model that can think does so unless told not to, and one that cannot refuses nothing but True.
            self._think = False
        if self._mode == "tools" and capabilities and "tools" not in capabilities:
            raise self._faults.fault("no_tools", "", self._place)
        self._checked = True

    def _capabilities(self, client: ollama.Client) -> Sequence[str]:
        """Return what the model can do; raises `InfrastructureError` where the server does not have it."""
        from pydantic import ValidationError  # noqa: PLC0415 - only the check needs it

        try:
            return client.show(self.spec.target).capabilities or ()
        except ValidationError:
            return ()  # the model is there; some servers leave out parts that the client insists on
        except self._faults.FAULTS as error:
            raise self._faults.explain(error, self._place) from error

    def fingerprint(self) -> dict[str, JSON]:
        """Return kind, model, digest (after `check`), host without password, prompt hash, mode and options."""
        return {
            "kind": "ollama",
            "model": self.spec.target,
            "model_digest": self._digest,
            "host": self._place.host,
            "prompt_sha256": sha256(self._prompt),
            "prompt_path": self.spec.prompt_path,
            "mode": self._mode,
            "options": {**self._options, "think": self._think},
            "seed": self._options["seed"],
        }

    def asker(self, case: Case) -> Callable[[Observation], Reply]:
        """Return what replies in one episode: no pause between retries outlasts its time limit."""
        return partial(self._reply, time_left=case.time_left, waits=case.waits)

    def reply(self, observation: Observation, /) -> Reply:
        """Return the model's turn, unparsed, with its token counts.

        What is no turn goes back as it is: that is the model's own mistake. Raises `InfrastructureError`
        where the server failed, or cut the conversation or the answer.
        """
        return self._reply(observation)

    def _reply(
        self,
        observation: Observation,
        *,
        time_left: Callable[[], float] | None = None,
        waits: Waits | None = None,
    ) -> Reply:
        if not self._checked:
            self.check()
        ask = partial(self._ask, time_left=time_left, waits=waits)
        if self._mode == "tools":
            return reply_with_tools(observation, self._prompt, ask, "ollama")
        messages = [{**message} for message in render(observation, self._prompt)]
        answer = ask(Question(messages, turn_schema(observation)))
        return Reply(turn=answer.turn, usage=answer.usage)

    def _ask(
        self,
        question: Question,
        /,
        *,
        time_left: Callable[[], float] | None,
        waits: Waits | None,
    ) -> Answer:
        def attempt() -> ollama.ChatResponse | Unreadable:
            try:
                return self._client.chat(
                    self.spec.target,
                    question.messages,
                    tools=question.tools or None,
                    format=question.schema,
                    stream=False,
                    think=self._think,
                    options=self._options,
                    keep_alive=self._keep_alive,
                )
            except self._faults.FAULTS as error:
                own: Unreadable | None = self._faults.malformed_by(error)
                if own is not None:
                    return own
                raise self._faults.to_raise(error, self._place) from error

        response, retries = retried(attempt, retries=self._retries, time_left=time_left, waits=waits)
        if isinstance(response, Unreadable):
            return Answer("", Usage(retries=retries), unreadable=response)
        seconds = None if response.total_duration is None else response.total_duration / _NANOSECONDS
        usage = Usage.reported(
            prompt_tokens=response.prompt_eval_count,
            completion_tokens=response.eval_count,
            seconds=seconds,
            retries=retries,
        )
        self._refuse_cut(question.messages, response, usage)
        calls = response.message.tool_calls or ()
        return Answer(
            response.message.content or "",
            usage,
            tuple(NativeCall(call.function.name, {**call.function.arguments}) for call in calls),
        )

    def _refuse_cut(self, messages: Sequence[Message], response: ollama.ChatResponse, usage: Usage) -> None:
        """Raise `InfrastructureError` where the server dropped a part of the conversation or of the answer."""
        read, written = usage.prompt_tokens, usage.completion_tokens
        if read is not None and self._overflowed(messages, read, written or 0):
            raise self._cut("context_overflow", f"{read} prompt tokens were read, num_ctx is", "num_ctx")
        if response.done_reason == "length":
            raise self._cut("reply_truncated", "the answer was cut at num_predict =", "num_predict")
        if not response.done or response.done_reason not in _COMPLETE:
            reason = f"done: {response.done}, done_reason: {str(response.done_reason)[:40]}"
            raise self._faults.fault("reply_incomplete", reason, self._place)

    def close(self) -> None:
        """Close the connections; the server unloads the model by itself."""
        self._client.close()  # type: ignore[no-untyped-call]  # the client's own annotation is missing

    def _overflowed(self, messages: Sequence[Message], read: int, written: int) -> bool:
        """Tell whether the server may have dropped part of the conversation, which it does without a word.

        It drops whole messages, oldest first, but never the system message nor the last one, until the rest
        fits: so after a drop what was read comes within one such message of the limit.
        """
        limit = self._options["num_ctx"]
        droppable = max((len(as_json(item).encode()) for item in messages[1:-1]), default=0)
        margin = max(written, self._options["num_predict"], droppable // BYTES_PER_TOKEN)
        unread = read * CHARS_PER_TOKEN < sum(len(item["content"]) for item in messages)
        return read + margin > limit or unread

    def _cut(self, cause: str, what: str, option: str) -> InfrastructureError:
        msg = f"{self._where()}: {what} {self._options[option]}"
        return InfrastructureError(
            cause, msg, f"raise the option {option}, e.g. ?{option}={2 * self._options[option]}"
        )

    def _where(self) -> str:
        return f"ollama at {self._place.host}, model {self.spec.target!r}"

    def _connect(self, timeout: float) -> ollama.Client:
        import httpx  # noqa: PLC0415 - comes with the optional client

        from pytest_supportbench.agents.ollama_client import connect  # noqa: PLC0415 - optional

        try:
            return connect(self._host, timeout, self._transport)
        except (ValueError, httpx.InvalidURL) as error:
            msg = f"agent {self.spec.raw!r}: host {self._place.host!r} is no address ({error})"
            raise UsageError(f"{msg}; write e.g. host=http://127.0.0.1:11434") from None
