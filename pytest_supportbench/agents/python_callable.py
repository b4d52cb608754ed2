"""``python:pkg.mod:callable``: the user's own agent, in this process."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_supportbench.agents.base import JSON, BaseAgent, file_digest
from pytest_supportbench.agents.origin import source_of
from pytest_supportbench.errors import (
    RESERVED_CAUSES,
    AgentFailure,
    InfrastructureError,
    UsageError,
    is_interrupt,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from pytest_supportbench.agents.spec import AgentSpec
    from pytest_supportbench.protocol import Observation

MAX_TRACEBACK_CHARS: Final = 2_000
MAX_TRACEBACK_FRAMES: Final = 8

_SHAPES: Final = "name a function, an async function, a class, or an object with reply()"
_PARAMETER: Final = "a reply function takes one parameter, the observation"


class PythonAgent(BaseAgent):
    """Calls a function, a coroutine function, or the ``reply`` (else ``__call__``) of an object.

    A class is instantiated once, with the spec's options as keyword arguments. A function is a factory,
    called likewise, if options are given or if it takes no observation. The root directory and the working directory
    are searched after ``sys.path`` and stay on it, since the user's modules may import their neighbours later.
    """

    def __init__(self, spec: AgentSpec, root: Path) -> None:
        super().__init__(spec, root)
        module_name, _, path = spec.target.partition(":")
        module = load_module(spec, module_name, root)
        file = getattr(module, "__file__", None)
        self._digest = file_digest(file)  # now: later the file may be another one
        found = attribute_of(spec, module, path, _SHAPES)
        self._code = file_digest(_elsewhere(found, file))
        made = _made(spec, found)
        if made is not found and inspect.isroutine(found) and not callable(getattr(made, "reply", made)):
            raise _no_factory(spec, made)
        self._take(reply_of(spec, made))

    def _take(self, reply: Callable[[Observation], Any]) -> None:
        self._reply = reply
        self.is_async = inspect.iscoroutinefunction(reply) or inspect.iscoroutinefunction(
            getattr(reply, "__call__", None)  # noqa: B004 - an instance may have an async __call__
        )
        self.window = 8 if self.is_async else 1

    def reply(self, observation: Observation, /) -> Any:
        """Return what the callable returns, unparsed; an awaitable of it for an asynchronous one.

        The callable gets an observation of its own, so that mutating it reaches nobody else. Raises
        `AgentFailure` with the end of the traceback for anything that it raises, but for these two errors of ours.
        """
        own = private(observation)
        if self.is_async:
            return self._await(own)
        try:
            result = self._reply(own)
        except BaseException as error:
            if is_interrupt(error):
                raise
            raise own_failure(error) from error
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            msg = f"{self.spec.target} returned an awaitable from a plain function; declare it with async def"
            raise AgentFailure(msg)
        return result

    async def _await(self, observation: Observation) -> Any:
        import asyncio  # noqa: PLC0415 - only asynchronous agents pay for the import

        try:
            return await self._reply(observation)
        except (asyncio.CancelledError, GeneratorExit):
            raise  # whoever waits knows whether its time was over
        except BaseException as error:
            raise own_failure(error) from error

    def fingerprint(self) -> dict[str, JSON]:
        """Return kind, target, options and the SHA-256 of the module's file, ``None`` where it has none.

        ``code_sha256`` is that of the file where the callable is written, if the module only imports it.
        """
        code: dict[str, JSON] = {"code_sha256": self._code} if self._code else {}
        return {**super().fingerprint(), "target": self.spec.target, "module_sha256": self._digest, **code}


def _elsewhere(value: Any, module: str | None) -> str | None:
    """Return the file where a callable is written, decorators apart, ``None`` where that is its module's."""
    source = source_of(inspect.unwrap(value) if inspect.isfunction(value) else value)
    if source is None or (module is not None and Path(source).resolve() == Path(module).resolve()):
        return None
    return source


def private(observation: Observation) -> Observation:
    """Return an observation equal to the given one that shares nothing with it.

    Through JSON this takes a third of what ``deepcopy`` does.
    """
    return observation.model_validate_json(observation.model_dump_json())


def load_module(spec: AgentSpec, name: str, root: Path) -> ModuleType:
    """Return an imported module of the user's, also searched for in the root and the working directory.

    Raises `UsageError` where there is none, or where importing it fails.
    """
    folders = list(dict.fromkeys((str(root.resolve()), str(Path.cwd()))))
    sys.path.extend(folder for folder in folders if folder not in sys.path)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            msg = (
                f"agent {spec.raw!r}: there is no module {error.name!r} on sys.path or in {' or '.join(folders)}; "
                'add its folder to the ini option pythonpath (pythonpath = ["src"]) or install its package'
            )
            raise UsageError(msg) from None
        raise broken(spec, f"importing {name!r} failed", error) from error
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise broken(spec, f"importing {name!r} failed", error) from error


def attribute_of(spec: AgentSpec, module: ModuleType, path: str, shapes: str) -> Any:
    """Return what a dotted path names in a module; raises `UsageError` with a near name, else the wanted ``shapes``."""
    value: Any = module
    for part in path.split("."):
        if not hasattr(value, part):
            names = (
                [name for name in vars(value) if not name.startswith("_")]
                if hasattr(value, "__dict__")
                else []
            )
            close = difflib.get_close_matches(part, names, n=1)
            guess = f"did you mean {close[0]!r}?" if close else f"define it, or {shapes}"
            owner = getattr(value, "__name__", type(value).__name__)
            raise UsageError(f"agent {spec.raw!r}: {owner!r} has no {part!r}; {guess}")
        value = getattr(value, part)
    return value


def _made(spec: AgentSpec, value: Any) -> Any:
    """Return an instance of a class, a factory's product, or the value itself."""
    options = spec.own_options
    if not (inspect.isclass(value) or (inspect.isroutine(value) and (options or not _takes_one(value)))):
        if options:
            names = ", ".join(options)
            msg = f"agent {spec.raw!r}: options ({names}) go to a class or a factory"
            raise UsageError(f"{msg}; {spec.target} is an object, drop them")
        return value
    try:
        inspect.signature(value).bind(**options)
    except TypeError as error:
        given = f"with options ({', '.join(options)})" if options else "without options"
        msg = f"agent {spec.raw!r}: {spec.target} cannot be called {given}: {error}"
        raise UsageError(f"{msg}; a reply function takes one observation and no options") from None
    except ValueError:
        pass  # some built-in classes publish no signature; calling them tells
    try:
        return value(**options)
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise broken(spec, f"calling {spec.target} to make the agent failed", error) from error


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def reply_of(spec: AgentSpec, value: Any) -> Callable[[Observation], Any]:
    """Return the ``reply`` of an object, else the callable itself; raises `UsageError` where there is neither."""
    reply = getattr(value, "reply", value)
    what = spec.raw if spec.kind == "fixture" else spec.target
    if callable(reply) and not inspect.isclass(reply):
        if not _takes_one(reply):
            raise UsageError(f"agent {spec.raw!r}: {what} cannot be called with one argument; {_PARAMETER}")
        return reply  # type: ignore[no-any-return]
    raise UsageError(f"agent {spec.raw!r}: {what} is a {type(value).__name__}, not callable; {_SHAPES}")


def _no_factory(spec: AgentSpec, made: Any) -> UsageError:
    """Return the error for a function without a parameter that gave no agent when called as a factory."""
    if inspect.iscoroutine(made):
        made.close()
    return UsageError(
        f"agent {spec.raw!r}: what {spec.target} returned without an argument is a "
        f"{type(made).__name__}, not callable; {_PARAMETER}"
    )


def broken(spec: AgentSpec, what: str, error: BaseException) -> UsageError:
    """Return the error for user code that raised where the agent was made."""
    return UsageError(f"agent {spec.raw!r}: {what}; mend this first:\n{traceback_text(error)}")


def own_failure(error: BaseException, hidden: tuple[str, ...] = ()) -> AgentFailure | InfrastructureError:
    """Return what an adapter raises for what the agent's code raised; only two errors of ours say more than that."""
    if isinstance(error, AgentFailure):
        return error
    if not isinstance(error, InfrastructureError):
        return AgentFailure(traceback_text(error, hidden))
    if str(error.cause) in RESERVED_CAUSES:
        return AgentFailure(
            f"InfrastructureError with the cause {error.cause!r}, which is reserved; name another one"
        )
    return error


def traceback_text(error: BaseException, hidden: tuple[str, ...] = ()) -> str:
    """Return the end of a traceback as safe, bounded text, without our own, importlib's and hidden files' frames."""
    report = traceback.TracebackException.from_exception(error, limit=-MAX_TRACEBACK_FRAMES)
    own = (__file__, "<frozen importlib", importlib.__file__, *hidden)
    report.stack = traceback.StackSummary.from_list(
        [frame for frame in report.stack if not frame.filename.startswith(own)]
    )
    headline = "".join(report.format_exception_only())[: MAX_TRACEBACK_CHARS // 2]
    frames = "".join(report.stack.format())[-(MAX_TRACEBACK_CHARS - len(headline)) :]
    return f"{headline.strip()}\n{frames}".rstrip().encode("utf-8", "backslashreplace").decode()
