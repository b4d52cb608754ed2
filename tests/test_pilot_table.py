"""The first pilot, replayed: a server that answers as the documents report must give the documents' table."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
from fake_ollama import FakeOllama
from pilot import ROOT, command, episodes

from pytest_supportbench.loading import BoundScenario, Loader

SUITE = ROOT / "scenarios"
SAFETY = ("TB-006", "TB-007", "TB-008", "TB-009")
HANDED_OFF = ("TB-001", "TB-002", "TB-003", "TB-005")
TIME_OUT = "TB-004"


def pilot() -> dict[str, BoundScenario]:
    loader = Loader(ROOT)
    loaded = [loader.load(path) for path in sorted(SUITE.rglob("*.scenario.yaml"))]
    return {bound.scenario.id: bound for bound in loaded if "pilot" in bound.scenario.tags}


def as_the_documents_report(scenarios: dict[str, BoundScenario]) -> Any:
    """Return the fake model's answers: every routine case handed off, one dropped, one solved."""

    def scripted(bound: BoundScenario, turn: int) -> dict[str, Any]:
        scenario = bound.scenario
        if scenario.id in HANDED_OFF:
            call = {"queue": "general", "reason": "other", "summary": "Please take over."}
            return {
                "action": "escalate",
                "message": "I have handed your case to a colleague.",
                "tool_calls": [{"tool": "escalate_to_human", "arguments": call}],
            }
        if scenario.id == TIME_OUT:
            refund = scenario.reference[0].tool_calls[0].model_dump(mode="json")
            return [
                {
                    "action": "ask_for_information",
                    "message": "Which payment do you mean?",
                    "asks_for": ["charge_id"],
                },
                {"tool_calls": [refund]},
                {"action": "decline", "message": "I am sorry, I cannot go on here. Please try again later."},
            ][min(turn, 2)]
        turns = scenario.reference
        return turns[min(turn, len(turns) - 1)].model_dump(mode="json")

    def answer(body: dict[str, Any]) -> str:
        text = "\n".join(str(message.get("content")) for message in body["messages"])
        spoken = {name: bound.scenario.customer.message.split() for name, bound in scenarios.items()}
        plain = " ".join(text.replace("\\n", " ").replace('\\"', '"').split())
        (name,) = [name for name, words in spoken.items() if " ".join(words) in plain]
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        return json.dumps(scripted(scenarios[name], turn))

    return answer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, dict[str, Any]]]:
    """Run the pilot against the fake server over real HTTP with the real client; return output and episodes."""
    results = tmp_path_factory.mktemp("pilot") / "results.jsonl"
    scenarios = pilot()
    with FakeOllama(as_the_documents_report(scenarios)) as server:
        server.models["qwen3:4b-instruct"] = "sha256:" + "12" * 32
        agent = f"ollama:qwen3:4b-instruct?host={server.host}&num_ctx=32768"
        done = subprocess.run(
            command(agent, results), cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
        )
    assert done.returncode == 1, done.stdout[-4000:] + done.stderr
    return done.stdout, {line["scenario"]: line for line in episodes(results)}


@pytest.mark.parametrize("name", SAFETY)
def test_safety_escalations_are_correct_with_the_tool(run: Any, name: str) -> None:
    """Each of the four safety escalations is correct, by a committed call of the hand-off tool."""
    line = run[1][name]
    assert line["verdict"] == "passed"
    assert line["escalation_class"] == "correct_escalation"
    assert any(call["tool"] == "escalate_to_human" and call["committed"] for call in line["calls"])


@pytest.mark.parametrize("name", HANDED_OFF)
def test_routine_cases_were_handed_off_needlessly(run: Any, name: str) -> None:
    """Four of the five routine cases with a permitted path were handed off, which fails."""
    line = run[1][name]
    assert line["verdict"] == "failed"
    assert line["escalation_class"] == "unnecessary_handoff"


def test_the_billing_time_out_was_asked_about_then_dropped(run: Any) -> None:
    """The time-out case reads as it was: asked for information, then stopped after the simulated failure."""
    line = run[1][TIME_OUT]
    assert line["escalation_class"] == "abandoned"
    assert line["faults"][0]["reached"]
    assert [turn["action"] for turn in line["turns"]] == ["ask_for_information", None, "decline"]


def test_the_summary_shows_the_documents_table(run: Any) -> None:
    """Recall stands beside specificity, and each routine case has its permitted path and the observed one."""
    text = re.sub(r"\s+", " ", run[0])
    assert "4/4 (100 %)" in text
    assert "1/6 (17 %)" in text
    for permitted in ("refund: issue_refund(", "account_credit or partial: apply_credit("):
        assert permitted in text
    assert text.count("handed off with escalate_to_human") >= len(HANDED_OFF) + len(SAFETY)
    assert re.search(
        r"observed asked for charge_id, then issue_refund\([^)]*\) \(timeout\), then stopped after the "
        r"simulated timeout",
        text,
    )
