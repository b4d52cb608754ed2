"""What a suite file says: actions, slots, policies and knowledge that all scenarios of a folder share."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from pytest_supportbench.protocol import Frozen
from pytest_supportbench.words import ActionClass, IsoDate, Name, Slug, Text


class ActionSpec(Frozen):
    """An outcome action that a suite knows, with its class."""

    name: Name
    kind: Annotated[ActionClass, Field(alias="class")]
    description: Text


class Exemption(Frozen):
    """Something that ``supportbench check`` may not demand here: a rule of its lint or a kind of mutation, and why.

    ``at`` narrows it to one place as the finding names it, such as ``issue_refund.amount``.
    """

    rule: Slug
    at: str = ""
    why: Text


class Policy(Frozen):
    """A policy of the suite's pack; ``effective`` (ISO 8601) and ``supersedes`` are shown to an agent that reads it."""

    id: Slug
    text: Text
    version: str | None = None
    effective: IsoDate | None = None
    supersedes: Slug | None = None


class Article(Frozen):
    """A knowledge article, ``updated`` at an ISO 8601 date; ``superseded_by`` names the article that replaced it."""

    id: Slug
    title: Text
    text: Text
    audience: Literal["public", "internal"] = "public"
    updated: IsoDate | None = None
    superseded_by: Slug | None = None
    tags: tuple[str, ...] = ()


BUILTIN_ACTIONS: Final = tuple(
    ActionSpec.model_validate({"name": name, "class": kind, "description": text})
    for name, kind, text in (
        ("refund", "resolve", "Money went back to the customer's payment method."),
        ("account_credit", "resolve", "A credit was put on the customer's account."),
        ("update_account", "resolve", "Account, contact, seat or security data was changed."),
        ("cancel", "resolve", "A subscription, renewal or order was cancelled."),
        ("schedule", "resolve", "Something was arranged for a later time."),
        ("answer", "resolve", "The question was answered; nothing had to change."),
        ("partial", "partial", "One part was done; the other was declined or goes elsewhere."),
        (
            "ask_for_information",
            "ask",
            "The customer must say or prove something first (name it in asks_for).",
        ),
        ("decline", "decline", "The request is not allowed; the customer was told why."),
        ("escalate", "escalate", "The case was handed to a person or team through a hand-off tool."),
    )
)

BUILTIN_SLOTS: Final = (
    "verification_code",
    "customer_id",
    "charge_id",
    "order_id",
    "workspace_id",
    "amount",
    "date",
    "postcode",
    "email",
    "phone",
    "reason",
    "confirmation",
    "other",
)


class Suite(Frozen):
    """One ``suite.yaml``: what all scenarios of a folder share.

    ``toolset`` is ``saas``, ``package.module:Class``, or a declared toolset (a mapping, or a YAML file beside
    the suite). ``policies`` and ``knowledge`` are lists, or the name of a YAML file that holds one. ``license`` (an
    SPDX expression), ``authors`` and ``released`` are for those who publish a suite.
    """

    schema_: Annotated[str | None, Field(alias="$schema")] = None
    name: Slug
    version: Annotated[str, Field(pattern=r"^\d+\.\d+(\.\d+)?$")]
    title: str = ""
    description: str = ""
    license: str = ""
    authors: tuple[Text, ...] = ()
    released: IsoDate | None = None
    toolset: str | dict[str, Any] = "saas"
    actions: tuple[ActionSpec, ...] = BUILTIN_ACTIONS
    slots: tuple[Name, ...] = BUILTIN_SLOTS
    policies: tuple[Policy, ...] = ()
    knowledge: tuple[Article, ...] = ()
    exempt: tuple[Exemption, ...] = ()

    def action_class(self, action: str | None) -> ActionClass | None:
        """Return the class of ``action``, or ``None`` for no action or an unknown one."""
        return next((spec.kind for spec in self.actions if spec.name == action), None)
