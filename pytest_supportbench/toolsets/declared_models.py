"""What a declared toolset may say: the mapping's models, and references to parameters in its values."""

import re
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from pytest_supportbench.parts import Part
from pytest_supportbench.state import Deed

TypeName: TypeAlias = Literal["string", "integer", "decimal", "boolean", "list", "instant"]
Name: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
NOW: Final = "now"
_LARGEST: Final = 10**15
_REFERENCE: Final = re.compile(r"^\$([a-z][a-z0-9_]*)$")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Typed(_Frozen):
    """A type with what narrows it; shared by fields and parameters."""

    type: TypeName
    enum: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    minimum: int | None = None

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        if self.enum is not None and self.type != "string":
            msg = f"'enum' goes with type string, not {self.type}; drop one of the two"
            raise ValueError(msg)
        if self.minimum is not None and self.type not in {"integer", "decimal"}:
            msg = f"'minimum' goes with type integer or decimal, not {self.type}; drop one of the two"
            raise ValueError(msg)
        return self


class FieldSpec(Typed):
    """A field of a table. ``owner`` fields hold the subject, or the subjects, whom a record belongs to."""

    hidden: bool = False
    identifying: bool = False
    owner: bool = False
    free_text: bool = False
    volatile: bool = False
    optional: bool = False
    default: Any = None

    @property
    def required(self) -> bool:
        """Whether a record must give the field."""
        return not self.optional and "default" not in self.model_fields_set

    @model_validator(mode="after")
    def _can_own(self) -> Self:
        if self.owner and self.type not in {"string", "list"}:
            msg = f"an 'owner' field holds ids, so its type is string or list, not {self.type}"
            raise ValueError(msg)
        return self


class ParameterSpec(Typed):
    """A parameter of a tool, required unless ``required: false``."""

    description: str = ""
    required: bool = True
    free_text: bool = False
    outward: bool = False


def _long_form(value: object) -> object:
    return {"type": value} if isinstance(value, str) else value


class TableSpec(_Frozen):
    """A table; ``proves`` are the deeds that a record in it proves to have happened.

    ``owner: id`` says that each record belongs to the subject whose id it has, as a customer does. ``part`` says that
    an ablation can take the table away, with the tools that find their records in it and only read.
    """

    fields: dict[Name, Annotated[FieldSpec, BeforeValidator(_long_form)]]
    owner: Literal["id"] | None = None
    proves: tuple[Deed, ...] = ()
    part: Part | None = None


class FindSpec(_Frozen):
    """Which records a tool is about: those whose fields equal the values of ``by``."""

    table: Name
    by: dict[Name, Any] = Field(default_factory=dict)
    many: bool = False


class CreateSpec(_Frozen):
    """A record that a tool makes; its id is the prefix with the next free number from 1001."""

    table: Name
    prefix: Name
    fields: dict[Name, Any] = Field(default_factory=dict)


class EffectSpec(_Frozen):
    """One change of the state: exactly one of the four kinds."""

    set: dict[Name, Any] | None = None
    add: dict[Name, Any] | None = None
    append: dict[Name, Any] | None = None
    create: CreateSpec | None = None

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if len(self.model_fields_set) != 1:
            msg = (
                f"an effect has exactly one of set, add, append, create, not {sorted(self.model_fields_set)}"
            )
            raise ValueError(msg)
        return self


class DeclaredTool(_Frozen):
    """One tool of the mapping."""

    name: Name
    description: Annotated[str, Field(min_length=1, max_length=2000)]
    effect: Literal["reads", "writes"]
    handoff: bool = False
    does: Deed | None = None
    batch: Name | None = None
    part: Part | None = None
    parameters: dict[Name, Annotated[ParameterSpec, BeforeValidator(_long_form)]] = Field(
        default_factory=dict
    )
    finds: FindSpec | None = None
    effects: tuple[EffectSpec, ...] = ()
    returns: tuple[Name, ...] | dict[Name, Any] | None = None

    @model_validator(mode="after")
    def _effects_fit(self) -> Self:
        if self.effect == "reads" and self.effects:
            raise ValueError("a tool that reads has no effects; write 'effect: writes' or drop them")
        if self.effect == "writes" and not self.effects:
            raise ValueError("a tool that writes needs effects; add some or write 'effect: reads'")
        if self.effect == "reads" and (self.handoff or self.does):
            raise ValueError(
                "'handoff' and 'does' are for tools that write; drop them or write 'effect: writes'"
            )
        if self.finds is None and any(effect.create is None for effect in self.effects):
            raise ValueError("set, add and append change the records found; add 'finds'")
        return self


class DeclaredToolset(_Frozen):
    """The whole mapping."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
    version: Annotated[str, Field(pattern=r"^\d+(\.\d+){0,2}$")]
    state: dict[Name, TableSpec]
    tools: Annotated[tuple[DeclaredTool, ...], Field(min_length=1)]


def reference(value: object) -> str | None:
    """Return the name in a reference (``$name``), or ``None`` for a literal.

    Raises ``ValueError`` for a string that starts with one dollar and is no reference.
    """
    if not isinstance(value, str) or not value.startswith("$") or value.startswith("$$"):
        return None
    match = _REFERENCE.match(value)
    if match is None:
        msg = f"{value!r} is no reference to a parameter; write ${value} for text that starts with a dollar"
        raise ValueError(msg)
    return match.group(1)


def literal(value: Any) -> Any:
    """Return a literal as it is meant: ``$$x`` is the text ``$x``."""
    return value[1:] if isinstance(value, str) and value.startswith("$$") else value


def annotation(spec: Typed) -> Any:
    """Return the Python type that values of a declared type are checked with; numbers are bounded."""
    if spec.enum is not None:
        return Literal[spec.enum]
    if spec.type == "integer":
        return Annotated[int, Field(ge=-_LARGEST if spec.minimum is None else spec.minimum, le=_LARGEST)]
    if spec.type == "decimal":
        return Annotated[Decimal, Field(ge=spec.minimum, max_digits=18)]
    plain: dict[str, Any] = {
        "string": str,
        "boolean": bool,
        "list": tuple[str, ...],
        "instant": AwareDatetime,
    }
    return plain[spec.type]
