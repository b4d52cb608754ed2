"""One tool: how a method is marked as one, and what the harness knows of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    PydanticUndefinedAnnotation,
    PydanticUserError,
    ValidationError,
    create_model,
)

from pytest_supportbench.errors import ToolsetError
from pytest_supportbench.findings import suggestion
from pytest_supportbench.parts import Part
from pytest_supportbench.protocol import ToolInfo
from pytest_supportbench.state import Deed, Record
from pytest_supportbench.suite import Article, Policy

if TYPE_CHECKING:
    from pytest_supportbench.toolset import Toolset

Effect: TypeAlias = Literal["reads", "writes"]


class ToolError(Exception):
    """A tool's typed refusal; the agent sees ``code``, ``message`` and ``retryable``, and nothing has changed."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable


@dataclass(slots=True)
class Context:
    """What tools may use beside the state: the virtual clock, id counters, the suite's policies and knowledge."""

    now: datetime
    policies: tuple[Policy, ...] = ()
    knowledge: tuple[Article, ...] = ()
    subject: str = ""
    counters: dict[str, int] = field(default_factory=dict)

    def advance(self, seconds: int) -> None:
        """Move the virtual clock; nothing ever sleeps."""
        self.now += timedelta(seconds=seconds)

    def new_id(self, prefix: str, taken: Mapping[str, object]) -> str:
        """Return the next free ``prefix_n`` (from 1001), the same in every run of one trace."""
        number = self.counters.get(prefix, 1000) + 1
        while f"{prefix}_{number}" in taken:
            number += 1
        self.counters[prefix] = number
        return f"{prefix}_{number}"


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the harness knows it; ``info`` is what an agent sees of it.

    ``names`` are its parameters in order, and ``make_model`` makes the model that checks them; it is asked once, when a
    call or an observation needs it. ``run(toolset, arguments)`` gets validated arguments.
    """

    name: str
    description: str
    effect: Effect
    names: tuple[str, ...]
    make_model: Callable[[], type[BaseModel]]
    run: Callable[[Toolset[Any], dict[str, Any]], Any]
    handoff: bool = False
    free_text: frozenset[str] = frozenset()
    outward: frozenset[str] = frozenset()
    batch: str | None = None
    does: Deed | None = None
    part: Part | None = None

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments. Raises `ToolsetError` where the annotations make none."""
        try:
            schema: dict[str, Any] = _tidy(self._model.model_json_schema())
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise _no_schema(self.name, error) from error
        schema.setdefault("properties", {})
        return schema

    @cached_property
    def info(self) -> ToolInfo:
        """The tool as an agent sees it, made once for all episodes."""
        return ToolInfo(
            name=self.name, description=self.description, parameters=self.parameters, handoff=self.handoff
        )

    @cached_property
    def _model(self) -> type[BaseModel]:
        try:
            return self.make_model()
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise _no_schema(self.name, error) from error

    def validate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as the tool takes them, defaults filled in. Raises pydantic's `ValidationError`."""
        checked = self._model.__pydantic_validator__.validate_python(arguments)
        values: dict[str, Any] = checked.__dict__
        return values


def _no_schema(name: str, error: PydanticUserError | PydanticUndefinedAnnotation) -> ToolsetError:
    reason = re.sub(r"\s+", " ", error.message.partition("\n")[0])
    return ToolsetError(f"tool {name!r}: its annotations make no JSON Schema: {reason}; use plain types")


@dataclass(frozen=True, slots=True)
class _Marker:
    effect: Effect
    handoff: bool
    free_text: frozenset[str]
    outward: frozenset[str]
    batch: str | None
    does: Deed | None
    part: Part | None


MARK: Final = "__supportbench_tool__"

F = TypeVar("F", bound=Callable[..., Any])


def tool(
    effect: Effect,
    *,
    handoff: bool = False,
    free_text: Iterable[str] = (),
    outward: Iterable[str] = (),
    batch: str | None = None,
    does: Deed | None = None,
    part: Part | None = None,
) -> Callable[[F], F]:
    """Mark a method of a `Toolset` as a tool that ``reads`` or ``writes``.

    ``handoff`` says that it moves the case to a person or team; ``free_text`` names parameters whose wording is
    the agent's own; ``outward`` those whose text leaves the company; ``batch`` the list parameter that can
    succeed in part; ``does`` is the deed that an agent may claim after it succeeded. The method's docstring is
    what the agent reads; its annotations become the JSON Schema. ``part`` says that the tool only reads what an
    ablation can take away (``memory``, ``knowledge`` or ``policies``), and goes with it. Raises `ToolsetError` for an
    effect, a deed or a part that does not exist.
    """
    if callable(effect):
        msg = f"the tool {effect.__name__!r}: @tool names no effect; write @tool('reads') or @tool('writes')"
        raise ToolsetError(msg)

    def mark(function: F) -> F:
        where = f"the tool {function.__name__!r}"
        if effect not in get_args(Effect):
            close = suggestion(str(effect), get_args(Effect), "effects")
            msg = f"{where}: effect must be 'reads' or 'writes', not {effect!r}; {close}"
            raise ToolsetError(msg)
        if does is not None and does not in get_args(Deed):
            msg = f"{where}: does={does!r} is no deed; {suggestion(str(does), get_args(Deed), 'deeds')}"
            raise ToolsetError(msg)
        if part is not None and part not in get_args(Part):
            msg = f"{where}: part={part!r} is no part; {suggestion(str(part), get_args(Part), 'parts')}"
            raise ToolsetError(msg)
        if effect == "reads" and (handoff or does):
            msg = (
                f"{where}: 'handoff' and 'does' are for tools that write; drop them or write @tool('writes')"
            )
            raise ToolsetError(msg)
        for option, names in (("free_text", free_text), ("outward", outward)):
            if isinstance(names, str):
                msg = f"{where}: {option} is the text {names!r}; write a list, {option}=[{names!r}]"
                raise ToolsetError(msg)
        marker = _Marker(effect, handoff, frozenset(free_text), frozenset(outward), batch, does, part)
        setattr(function, MARK, marker)
        return function

    return mark


MAX_TEXT: Final = 100_000

"""Characters that a text argument may have; longer ones are invalid arguments."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", str_max_length=MAX_TEXT, str_strip_whitespace=True)


def _tidy(schema: Any) -> Any:
    """Return a JSON Schema without pydantic's titles and our general bound, which only cost an agent tokens."""
    if isinstance(schema, dict):
        return {
            key: {name: _tidy(item) for name, item in value.items()} if key == "properties" else _tidy(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str)) and (key, value) != ("maxLength", MAX_TEXT)
        }
    return [_tidy(item) for item in schema] if isinstance(schema, list) else schema


_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def make_spec(name: str, function: Callable[..., Any], marker: _Marker) -> ToolSpec:
    """Return the spec of a marked method. Raises `ToolsetError` where its signature or marker does not fit.

    Whether its annotations make a JSON Schema shows when the schema is asked for.
    """
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, SyntaxError) as error:
        msg = (
            f"tool {name!r}: its annotations cannot be read: {error}; define what they name before the class"
        )
        raise ToolsetError(msg) from error
    fields: dict[str, Any] = {}
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.annotation is parameter.empty:
            msg = f"tool {name!r}: parameter {parameter.name!r} has no annotation; add one, it becomes the JSON Schema"
            raise ToolsetError(msg)
        if parameter.kind not in _NAMED or parameter.name.startswith("_"):
            msg = (
                f"tool {name!r}: {str(parameter)!r} cannot be passed by name; spell out the tool's parameters"
            )
            raise ToolsetError(msg)
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (parameter.annotation, default)

    def run(toolset: Toolset[Any], arguments: dict[str, Any]) -> Any:
        return function(toolset, **arguments)

    unknown = (
        marker.free_text | marker.outward | ({marker.batch} if marker.batch else set())
    ) - fields.keys()
    if unknown:
        close = suggestion(min(unknown), fields, "parameters")
        msg = f"tool {name!r}: the marker names {sorted(unknown)}, which are no parameters of it; {close}"
        raise ToolsetError(msg)
    return ToolSpec(
        name=name,
        description=re.sub(r"\s+", " ", inspect.getdoc(function) or "").strip(),
        effect=marker.effect,
        names=tuple(fields),
        make_model=partial(create_model, f"{name}_arguments", __base__=_Arguments, **fields),
        run=run,
        handoff=marker.handoff,
        free_text=marker.free_text,
        outward=marker.outward,
        batch=marker.batch,
        does=marker.does or ("handoff" if marker.handoff else None),
        part=marker.part,
    )


def shown(value: Any) -> Any:  # noqa: PLR0911 - one return a kind of value
    """Return a tool's return value as JSON data. Raises `ToolsetError` for what is none."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {str(key): shown(item) for key, item in value.items()}
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Record):
        return value.shown()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, set | frozenset):  # sorted, since their order differs from process to process
        return sorted((shown(item) for item in value), key=str)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return shown(dict(value))
    msg = (
        f"a tool returned a {type(value).__name__}, which is no JSON value; return records, mappings or lists"
    )
    raise ToolsetError(msg)


def argument_problem(error: ValidationError) -> str:
    """Return a validation error of arguments in one line that an agent can act on."""
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)[:5]
    )
