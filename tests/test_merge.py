"""Shards become one run that says what the whole one says, or a refusal that names file and remedy."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from projects import DARK, agent, last_run, normalised, project
from shared_work import once

from pytest_supportbench.cli import main
from pytest_supportbench.comparable import gaps
from pytest_supportbench.evidence import evidence
from pytest_supportbench.gate_rules import Rules
from pytest_supportbench.recount import recounted
from pytest_supportbench.results import dump
from pytest_supportbench.results_file import read_run
from pytest_supportbench.statistics import simulate_any_above, wilson

ROOT = Path(__file__).parent.parent
NAMES = ("one.jsonl", "two.jsonl", "three.jsonl")
FOREIGN = ("hypothesispytest", "anyio", "langsmith_plugin", "cacheprovider")


@pytest.fixture(scope="session")
def tinybench(tmp_path_factory):
    """Return a folder with a whole run of TinyBench, two agents with two trials each, and its three shards."""
    return once(tmp_path_factory, "shards", run_whole_and_in_parts)


def run_whole_and_in_parts(folder):
    """Run what the files are of."""
    shutil.copytree(ROOT / "scenarios", folder / "scenarios")
    (folder / "pytest.toml").write_text("[pytest]\nstrict = true\n", "utf-8")
    options = [f"-pno:{name}" for name in FOREIGN] + ["--supportbench-trials=2", "-q", "--tb=no"]
    options += ["--supportbench-agent=rules", "--supportbench-agent=do-nothing"]

    def start(*more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "pytest", *options, *more]
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)

    assert start("--supportbench-results=whole.jsonl").wait() == 1
    parts = [
        start(
            f"--supportbench-shard={number}/3",
            f"--supportbench-results={name}",
            "--supportbench-durations=whole.jsonl",
        )
        for number, name in enumerate(NAMES, 1)
    ]
    assert [part.wait() for part in parts] == [1, 1, 1]


@pytest.fixture
def shards(tinybench, tmp_path, monkeypatch):
    """Return the files of the three shards, copied to where the test may change them."""
    for name in NAMES:
        shutil.copy(tinybench / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return [Path(name) for name in NAMES]


def merge(*words: Any) -> int:
    return main(["merge", *map(str, words)])


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def rewrite(path: Path, change: Any) -> None:
    """Give a results file other lines: what ``change`` makes of the old ones."""
    lines = lines_of(path)
    found = change(lines)
    path.write_text("".join(map(dump, lines if found is None else found)), "utf-8")


def test_the_merged_run_says_what_the_whole_one_says(tinybench, shards, capsys):
    """Evidence, verdicts and all counts of three shards are those of the unsharded run; only times differ."""
    assert merge(*shards, "--out", "merged.jsonl") == 0
    assert capsys.readouterr().out == "merged.jsonl: 200 episodes of 3 shards\n"
    whole, merged = read_run(tinybench / "whole.jsonl"), read_run(Path("merged.jsonl"))
    assert evidence(merged) == evidence(whole)
    assert len(evidence(merged)) == 2
    assert all(len(item.cases) == 50 and item.complete for item in evidence(merged))
    ours, theirs = normalised(merged), normalised(whole)
    for head in (ours[0], theirs[0]):
        head.pop("merged_from", None)
    assert ours == theirs


def test_the_order_of_files_is_no_matter(shards):
    """The same shards make the same bytes, whichever is named first, on whichever machine."""
    assert merge(*shards, "--out", "a.jsonl") == 0
    assert merge(*random.Random(1).sample(shards, 3), "--out", "b.jsonl") == 0
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()
    run = read_run(Path("a.jsonl")).run
    assert run["merged_from"] == [read_run(path).run["run"] for path in shards]
    assert (run["settings"]["shard"], run["settings"]["plan"]) == (None, None)


def test_episodes_are_those_of_the_shards_to_the_byte(shards):
    """Nothing of an episode changes by merging."""
    assert merge(*shards, "--out", "merged.jsonl") == 0
    before = sorted(
        line for path in shards for line in path.read_text("utf-8").splitlines() if '"turns"' in line
    )
    after = sorted(line for line in Path("merged.jsonl").read_text("utf-8").splitlines() if '"turns"' in line)
    assert after == before


def killed(lines: Any) -> Any:
    return lines[:-1]


def half(lines: Any) -> Any:
    return lines[: len(lines) // 2]


def stopped(lines: Any) -> None:
    lines[-1]["stopped_early"] = True


def misused(lines: Any) -> None:
    lines[-1]["exit_status"] = 4


def lossy(lines: Any) -> None:
    del lines[5]


GAPS = {
    "killed at its end": (killed, "two.jsonl (shard 2/3): has no end: it was killed, or is still under way"),
    "killed half way": (half, "two.jsonl (shard 2/3): has no end"),
    "stopped": (stopped, "two.jsonl (shard 2/3): was stopped before its end; run it again"),
    "misused": (misused, "two.jsonl (shard 2/3): wrong usage kept scenarios from running (exit status 4)"),
    "a line lost": (lossy, "two.jsonl (shard 2/3): its episodes do not add up to its summary: it was cut"),
}


@pytest.mark.parametrize(("change", "told"), GAPS.values(), ids=GAPS)
def test_what_has_gaps_is_inconclusive(tinybench, shards, capsys, change, told):
    """Refused with 11; if it is allowed it has no end, and the gate is inconclusive, whatever the scores."""
    rewrite(shards[1], change)
    assert merge(*shards, "--out", "merged.jsonl") == 11
    out = capsys.readouterr().out
    assert told in out
    assert "--allow-incomplete" in out
    assert not Path("merged.jsonl").exists()
    assert merge(*shards, "--out", "merged.jsonl", "--allow-incomplete") == 0
    assert "incomplete, so that no gate passes it:" in capsys.readouterr().out
    inconclusive(tinybench, Path("merged.jsonl"))


def inconclusive(tinybench: Path, path: Path) -> None:
    """Assert that a merged run has no end, and cannot pass against a baseline however good it is."""
    run = read_run(path)
    assert not run.complete
    for before, now in zip(evidence(read_run(tinybench / "whole.jsonl")), evidence(run), strict=True):
        blocks = {reason.text: reason.blocks for reason in gaps(before, now, Rules())}
        assert blocks["the run has no end: it was stopped or killed"] == "INCONCLUSIVE"


def test_a_missing_shard_is_a_gap(tinybench, shards, capsys):
    """Two of three are no whole run, and the one that is missing is named."""
    assert merge(shards[2], shards[0], "--out", "merged.jsonl") == 11
    assert "  shard 2/3 is missing; run it, and give its file too\n" in capsys.readouterr().out
    assert merge(shards[1], "--out", "merged.jsonl", "--allow-incomplete") == 0
    assert "  shards 1/3, 3/3 are missing; run them, and give their files too\n" in capsys.readouterr().out
    inconclusive(tinybench, Path("merged.jsonl"))


def test_unreported_episodes_of_a_stopped_shard_do_not_count(shards):
    """What ran ahead of an item that was never reported stays marked where no closing line can tell it."""
    key = "{agent}/{suite}/{scenario}/{trial}".format(**lines_of(shards[1])[1])

    def stop(lines: Any) -> None:
        lines[-1].update(stopped_early=True, unreported=[key])

    rewrite(shards[1], stop)
    assert merge(*shards, "--out", "merged.jsonl", "--allow-incomplete") == 0
    marked = [line for line in read_run(Path("merged.jsonl")).episodes if line.get("unreported")]
    assert len(marked) == 1
    assert sum(item.trials for item in evidence(read_run(Path("merged.jsonl")))) == 199


def test_what_is_no_part_of_the_counts_is_kept_and_stays_none(shards, tinybench):
    """An episode that pytest never reported, and a gate's fresh trial, are in the file as they are in a shard's."""

    def add(lines: Any) -> None:
        ahead, fresh = {**lines[1], "trial": 1, "agent": "ghost"}, {**lines[1], "trial": 3}
        lines[-1]["unreported"] = ["ghost/{suite}/{scenario}/1".format(**ahead)]
        lines[1:1] = [ahead, fresh]

    rewrite(shards[1], add)
    assert merge(*shards, "--out", "merged.jsonl") == 0
    run, whole = read_run(Path("merged.jsonl")), read_run(tinybench / "whole.jsonl")
    assert run.summary["unreported"] == lines_of(shards[1])[-1]["unreported"]
    assert [line["agent"] for line in run.episodes if line.get("unreported")] == ["ghost"]
    assert '"unreported":true' not in Path("merged.jsonl").read_text("utf-8")
    assert (len(run.episodes), run.summary["verdicts"]) == (202, whole.summary["verdicts"])
    assert sum(item.scored for found in evidence(run) for item in found.fresh.values()) == 1
    assert tuple(replace(found, fresh={}) for found in evidence(run)) == evidence(whole)


def test_the_run_began_with_its_first_shard(shards):
    """Whichever shard began first, its time is the run's, and begins its id."""
    rewrite(shards[2], changed("started", to="2020-01-02T03:04:05+00:00"))
    rewrite(shards[2], of_another_id)
    assert merge(*shards, "--out", "merged.jsonl") == 0
    run = read_run(Path("merged.jsonl")).run
    assert run["started"] == "2020-01-02T03:04:05+00:00"
    assert run["run"].startswith("20200102T030405Z-merged-")


def of_another_id(lines: Any) -> None:
    """Give a run another id, where it begins and where it ends."""
    for line in (lines[0], lines[-1]):
        line["run"] = "20200102T030405Z-abcdef"


def changed(*path: Any, to: Any) -> Any:
    """Return a change that puts a value into the run line."""

    def change(lines: Any) -> None:
        place = lines[0]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = to

    return change


def other_agent(lines: Any) -> None:
    lines[0]["agents"][0]["options"] = {"temperature": 1}


def without_agent(lines: Any) -> None:
    del lines[0]["agents"][1]


CLASHES = {
    "scorer": (
        changed("scorer", to="4"),
        "scorer 4, and one.jsonl (shard 1/3): 5; grade them with one scorer first",
    ),
    "package": (
        changed("package", to="9"),
        "package 9, and one.jsonl (shard 1/3): 0.1.0; run all shards with",
    ),
    "suite": (changed("suites", 0, "sha256", to="f" * 64), "same files of the suite"),
    "trials": (changed("settings", "trials", to=3), "trials 3, and one.jsonl (shard 1/3): 2; run all"),
    "turns": (changed("settings", "max_turns", to=3), "turn limit 3, and one.jsonl (shard 1/3): 6; run all"),
    "timeout": (changed("settings", "timeout", to=3.0), "timeout 3.0, and one.jsonl (shard 1/3): 120.0; run"),
    "customer": (
        changed("customer", to={"id": "c"}),
        "simulated customer {}, and one.jsonl (shard 1/3): none; run",
    ),
    "number": (
        changed("settings", "shard", to=[2, 4]),
        "number of shards 4, and one.jsonl (shard 1/3): 3; take the",
    ),
    "agent": (
        other_agent,
        "the agent rules is another one than in one.jsonl (shard 1/3): options {'temperature': 1}",
    ),
    "no agent": (
        without_agent,
        "has no agent do-nothing, and one.jsonl (shard 1/3) has; run all shards with the",
    ),
    "plan": (
        changed("settings", "plan", "sha256", to="f" * 64),
        "by different plans; run every shard with the same",
    ),
    "selection": (
        changed("settings", "plan", to={"sha256": "f", "scenarios": 9, "durations": {"sha256": "x"}}),
        "different plans; their durations differ: give every shard the same file",
    ),
}


@pytest.mark.parametrize(("change", "told"), CLASHES.values(), ids=CLASHES)
def test_mixed_settings_are_refused_with_file_and_remedy(shards, capsys, change, told):
    """One run is of one setup: any difference is 11, whatever is allowed, and nothing is written."""
    rewrite(shards[1], change)
    for options in ((), ("--allow-incomplete",)):
        assert merge(*shards, "--out", "merged.jsonl", *options) == 11
        found = capsys.readouterr().out
        assert told in found
        assert "two.jsonl (shard 2/" in found
        assert "Traceback" not in found
    assert not Path("merged.jsonl").exists()


def test_another_selection_is_told_apart_from_other_durations(shards, capsys):
    """With equal durations, it is -k that differs."""

    def select(lines: Any) -> None:
        lines[0]["settings"]["plan"].update(sha256="f" * 64, scenarios=9)

    rewrite(shards[1], select)
    assert merge(*shards, "--out", "merged.jsonl") == 11
    assert "of 9 and of 50 scenarios: select the same with -k, -m and paths" in capsys.readouterr().out


def test_commits_must_be_one_where_they_are_known(shards, capsys):
    """A machine without git says nothing against it; another commit may be another agent."""
    rewrite(shards[0], changed("git_commit", to="aaa"))
    rewrite(shards[1], changed("git_commit", to="bbb"))
    assert merge(*shards, "--out", "merged.jsonl") == 11
    assert "git commit bbb, and one.jsonl (shard 1/3): aaa; run all shards on one" in capsys.readouterr().out
    rewrite(shards[1], changed("git_commit", to=None))
    assert merge(*shards, "--out", "merged.jsonl") == 0
    assert read_run(Path("merged.jsonl")).run["git_commit"] == "aaa"
    rewrite(shards[0], changed("git_commit", to=None))
    rewrite(shards[2], changed("git_commit", to="ccc"))
    assert merge(*shards, "--out", "merged.jsonl") == 0
    assert read_run(Path("merged.jsonl")).run["git_commit"] == "ccc"


def test_what_belongs_to_a_machine_may_differ(shards):
    """Hosts, folders and platforms are no part of what the agent is; the merged run keeps what all share."""
    for path, host in zip(shards, "aba", strict=True):

        def change(lines: Any, host: str = host) -> None:
            lines[0]["agents"][0].update(host=host, record="none")
            lines[0]["platform"] = f"Linux-{host}"

        rewrite(path, change)
    assert merge(*shards, "--out", "merged.jsonl") == 0
    run = read_run(Path("merged.jsonl")).run
    assert run["agents"][0] == {"id": "rules", "kind": "rules", "options": {}, "record": "none"}
    assert run["platform"] == "Linux-a, Linux-b"


def test_a_shard_that_is_there_twice_is_an_overlap(shards, capsys):
    """A copy, or a rerun, of a shard is named with its twin."""
    shutil.copy(shards[0], "again.jsonl")
    assert merge(*shards, "again.jsonl", "--out", "merged.jsonl") == 11
    assert "again.jsonl and one.jsonl are both shard 1/3; leave one of them out" in capsys.readouterr().out
    assert merge(*shards, shards[0], "--out", "merged.jsonl", "--allow-incomplete") == 11


def test_a_scenario_in_two_shards_is_an_overlap(shards, capsys):
    """An episode counts once, and so all trials of a scenario are in one shard."""
    moved = lines_of(shards[1])[1]

    def change(lines: Any) -> None:
        lines.insert(1, moved)

    rewrite(shards[0], change)
    assert merge(*shards, "--out", "merged.jsonl") == 11
    told = f"one.jsonl (shard 1/3) and two.jsonl (shard 2/3) both have {moved['scenario']}; take the files of one run"
    assert told in capsys.readouterr().out


def test_an_episode_that_is_there_twice_is_an_overlap(shards, capsys):
    """A file into which a run was written twice is no shard of one run."""
    first = lines_of(shards[0])[1]

    def change(lines: Any) -> None:
        lines.insert(1, first)

    rewrite(shards[0], change)
    assert merge(*shards, "--out", "merged.jsonl", "--allow-incomplete") == 11
    told = capsys.readouterr().out
    assert f"one.jsonl (shard 1/3): has tinybench-50/{first['scenario']} of {first['agent']}, trial" in told
    assert "twice; run that shard again" in told


def test_two_shards_in_one_file_are_no_shard(shards, capsys):
    """Files that were put together by hand do not add up."""
    text = shards[0].read_text("utf-8") + shards[1].read_text("utf-8")
    shards[1].write_text(text, "utf-8")
    assert merge(*shards[1:], "--out", "merged.jsonl") == 4
    assert "two.jsonl: holds more than one run, or lines behind its end (line " in capsys.readouterr().err


@pytest.mark.parametrize("what", ["another run line", "the closing line twice", "the end of another run"])
def test_a_file_of_two_runs_is_no_results_file(shards, capsys, what):
    """What was put together by hand is refused: which agent its episodes are of could not be told."""
    lines = shards[0].read_text("utf-8").splitlines()
    other = shards[1].read_text("utf-8").splitlines()
    if what == "another run line":
        lines.append(other[0])
    elif what == "the closing line twice":
        lines.append(lines[-1])
    else:
        end = json.loads(lines[-1])
        lines[-1] = json.dumps({**end, "run": "another"})
    shards[0].write_text("\n".join(lines) + "\n", "utf-8")
    assert main(["compare", str(shards[0]), str(shards[0])]) != 0
    told = "".join(capsys.readouterr())
    assert "one.jsonl: holds more than one run, or lines behind its end (line " in told
    assert "give each run a file of its own" in told


def test_wrong_usage_is_told_apart(tinybench, shards, capsys):
    """What is no shard, no results file, or in the way of the output is 4, and nothing is written or lost."""
    assert merge(*shards, "--out", "merged.jsonl") == 0
    Path("notes.txt").write_text("mine", "utf-8")
    whole = tinybench / "whole.jsonl"
    for words, told in (
        ((whole, "--out", "x"), "is a whole run, and no shard; merge takes the files of pytest"),
        (("merged.jsonl", "--out", "x"), "merged.jsonl: is a merged run already; merge takes"),
        (("no.jsonl", "--out", "x"), "no.jsonl: cannot be read (No such file or directory); name a file"),
        ((".", "--out", "x"), ".: is no file; name a file"),
        (("notes.txt", "--out", "x"), "notes.txt: is no results file; name a file"),
        (
            (*shards, "--out", shards[0]),
            "one.jsonl: is one of the files to read; name another path with --out",
        ),
        ((*shards, "--out", "notes.txt"), "notes.txt: exists and is no results file; name another path"),
        ((*shards, "--out", "."), ".: exists and is no results file; name another path"),
        ((*shards, "--out", "notes.txt/x"), "notes.txt/x: cannot be written"),
    ):
        assert merge(*words) == 4
        assert told in capsys.readouterr().err
    assert Path("notes.txt").read_text("utf-8") == "mine"
    assert sorted(path.name for path in Path().iterdir()) == sorted([*NAMES, "merged.jsonl", "notes.txt"])


@pytest.mark.parametrize("seed", range(40))
def test_a_shard_that_somebody_changed_is_one_clear_message(shards, capsys, seed):
    """Whatever is missing of a line or of another kind, merging ends with 4 or 11 and the file's name, or is right."""
    chosen = random.Random(seed)

    def change(lines: Any) -> None:
        line = lines[chosen.choice((0, 1, 2, -1))]
        place: Any = line
        for _ in range(chosen.randint(0, 2)):
            inner = [value for value in place.values() if isinstance(value, dict) and value]
            place = chosen.choice(inner) if inner else place
        name = chosen.choice(sorted(place))
        value = chosen.choice([None, [], {}, "x", 7, -1.5, [[1]], {"a": 1}, ...])
        if value is ...:
            del place[name]
        else:
            place[name] = value

    rewrite(shards[1], change)
    code = merge(*shards, "--out", "merged.jsonl")
    told = capsys.readouterr()
    assert code in {0, 4, 11}
    if code:
        assert "two.jsonl" in told.err + told.out or "shard 2/3 is missing" in told.out
        assert not Path("merged.jsonl").exists()
    else:
        evidence(read_run(Path("merged.jsonl")))


def test_a_stored_run_recounts_to_its_own_summary(tinybench):
    """What lines tell of the counts is what the run itself wrote, for a whole run and for a shard."""
    for name in ("whole.jsonl", *NAMES):
        run = read_run(tinybench / name)
        assert run.summary is not None
        found = recounted(run, [run.summary])
        for side in (found["agents"], run.summary["agents"]):
            for item in side:
                item["usage"]["median_seconds"] = None
        assert found["agents"] == run.summary["agents"]
        assert found["comparisons"] == run.summary["comparisons"]
        assert len(found["verdicts"]) == run.summary["episodes"]


OWN = """
def test_own(supportbench):
    for number in (1, 2):
        assert supportbench.run(f"desk/case00{number}.scenario.yaml", agent="oracle").verdict == "passed"
"""

FLAKY = """

seen = set()


def flaky(observation):
    number = case(observation)
    if number in {2, 3} and number not in seen:
        seen.add(number)
        return BAD
    return GOOD
"""


def shard_files(plain: Any, count: int, *options: str) -> list[str]:
    """Run each shard, and return their results files."""
    names = [f"part{number}.jsonl" for number in range(1, count + 1)]
    for number, name in enumerate(names, 1):
        plain(*options, f"--supportbench-shard={number}/{count}", f"--supportbench-results={name}")
    return names


def whole_and_merged(plain: Any, pytester: Any, *options: str) -> tuple[Any, Any]:
    """Run the whole and its two shards, and return the whole run and the merged one."""
    plain(*options, "--supportbench-results=whole.jsonl")
    names = shard_files(plain, 2, *options)
    assert merge(*names, "--out", "merged.jsonl") == 0
    return read_run(pytester.path / "whole.jsonl"), read_run(pytester.path / "merged.jsonl")


def test_reruns_and_tests_of_the_users_own_are_counted_as_they_were(plain, pytester):
    """The last attempt at a scenario counts, and an episode of a test of your own is in no agent's counts."""
    project(pytester, range(1, 5), agents=FLAKY)
    pytester.makepyfile(test_own=OWN)
    whole, merged = whole_and_merged(plain, pytester, agent("flaky"), "--reruns=1")
    assert len(merged.episodes) == 4 + 2 + 2
    assert (merged.summary["verdicts"], merged.summary["exit_status"]) == (
        {"passed": 6, "failed": 0, "error": 0},
        0,
    )
    assert normalised(merged)[-1] == normalised(whole)[-1]
    assert evidence(merged) == evidence(whole)


def test_errors_alone_end_with_ten(plain, pytester):
    """The exit status of the whole is the one that wins among those of the shards."""
    project(pytester, range(1, 5))
    whole, merged = whole_and_merged(plain, pytester, f"--supportbench-agent={DARK}")
    assert merged.summary["exit_status"] == whole.summary["exit_status"] == 10
    assert merged.summary["agents"][0]["errors"] == {"connection_refused": 4}


def test_budgets_cassettes_and_ablations_add_up(plain, pytester):
    """What a line does not tell is added up from the closing lines of the shards."""
    project(pytester, range(1, 5))
    options = (
        "--supportbench-agent=python:desk_agents:good?without=memory,policies",
        "--supportbench-max-tokens=1000",
        "--supportbench-cassette=tapes",
    )
    names = shard_files(plain, 2, *options)
    assert merge(*names, "--out", "merged.jsonl") == 0
    summary = read_run(pytester.path / "merged.jsonl").summary
    assert summary["budget"] == {
        "max_tokens": 2000,
        "spent_tokens": 0,
        "used_up": False,
        "agents_without_tokens": [summary["agents"][0]["agent"]],
    }
    assert summary["agents"][0]["without"] == {"memory": [0, 4], "policies": [4, 4]}
    (cassette,) = summary["cassettes"]
    assert (cassette["recorded"], cassette["played"]) == (4, 0)


def test_skipped_scenarios_are_told_and_are_no_gap(plain, pytester, capsys):
    """A whole run would lack them as well; whether that matters is the gate's to say."""
    project(pytester, range(1, 5))
    pytester.makeconftest(
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    items[0].add_marker(pytest.mark.skip(reason='later'))\n"
    )
    names = shard_files(plain, 2, agent("good"))
    capsys.readouterr()
    assert merge(*names, "--out", "merged.jsonl") == 0
    assert "1 scenario of 4 have no episode" in capsys.readouterr().out
    assert evidence(read_run(pytester.path / "merged.jsonl"))[0].complete


def test_agents_of_fixtures_may_be_in_one_shard_alone(plain, pytester):
    """A fixture beside some scenarios supplies an agent for them, which no other shard knows of."""
    project(pytester, range(1, 5))
    (pytester.path / "desk" / "conftest.py").write_text(
        "import pytest\n"
        "def good(observation):\n"
        "    return {'action': 'answer', 'message': 'We are open from nine to five.'}\n"
        "def bad(observation):\n"
        "    return {'action': 'decline', 'message': 'No.'}\n"
        "@pytest.fixture\n"
        "def supportbench_agent(supportbench_scenario):\n"
        "    return good if int(supportbench_scenario.scenario.id[-1]) % 2 else bad\n",
        "utf-8",
    )
    names = shard_files(plain, 2)
    assert merge(*names, "--out", "merged.jsonl") == 0
    merged = read_run(pytester.path / "merged.jsonl")
    assert {item.agent: len(item.cases) for item in evidence(merged)} == {"good": 2, "bad": 2}


@pytest.fixture
def _statistics():
    """Import numpy before pytester's runs, which would forget and import it again: it loads once a process."""
    wilson(1, 2)
    simulate_any_above([0.5], [1], [1])


@pytest.mark.usefixtures("_statistics")
def test_a_gate_on_a_part_says_nothing_of_the_whole(plain, pytester):
    """Each shard's gate is inconclusive; the merged run has no gate, and pytest's status by its verdicts."""
    project(pytester, range(1, 7))
    plain(agent("good"))
    last = str(Path(".supportbench/last-run.jsonl"))
    assert main(["baseline", "set", last, "base.json"]) == 0
    names = shard_files(plain, 2, agent("good"), "--supportbench-baseline=base.json")
    assert last_run(pytester).summary["exit_status"] == 11
    assert merge(*names, "--out", "merged.jsonl") == 0
    summary = read_run(pytester.path / "merged.jsonl").summary
    assert (summary["exit_status"], summary["gate"]) == (0, None)
    assert main(["compare", "base.json", "merged.jsonl"]) == 0
    rewrite(Path(names[0]), half)
    assert merge(*names, "--out", "merged.jsonl", "--allow-incomplete") == 0
    assert main(["compare", "base.json", "merged.jsonl"]) == 11


@pytest.mark.usefixtures("_statistics")
def test_thresholds_on_a_part_say_nothing_of_the_whole(plain, pytester):
    """Each shard is inconclusive, and the merged run has the status of its verdicts."""
    project(pytester, range(1, 9), agents="def late(seen):\n    return GOOD if case(seen) > 2 else BAD\n")
    names = shard_files(plain, 2, agent("late"), "--supportbench-fail-under=strict=0.5")
    assert last_run(pytester).summary["exit_status"] == 11
    assert merge(*names, "--out", "merged.jsonl") == 0
    assert read_run(pytester.path / "merged.jsonl").summary["exit_status"] == 1


def violations_away(lines: Any) -> None:
    for line in lines[1:-1]:
        line["violations"] = []


def all_escalated(lines: Any) -> None:
    for line in lines[1:-1]:
        line["escalation_class"] = "correct_escalation"


def all_explained(lines: Any) -> None:
    for line in lines[1:-1]:
        line["explanation"]["share"] = 1.0


def swapped(lines: Any) -> None:
    """Give one agent's passed scenario the scores of a failed one, and the other way round."""
    own = [line for line in lines[1:-1] if line["agent"] == "rules"]
    passed, failed = (next(line for line in own if line["verdict"] == word) for word in ("passed", "failed"))
    scores = ("verdict", "strict", "strict_effects", "dimensions", "escalation_class", "violations")
    for field in (*scores, "explanation"):
        passed[field], failed[field] = failed[field], passed[field]


def renamed(lines: Any) -> None:
    scenario = lines[1]["scenario"]
    for line in lines[1:-1]:
        line["scenario"] = "TB-999" if line["scenario"] == scenario else line["scenario"]


def one_hash(lines: Any) -> None:
    lines[1]["scenario_sha256"] = "0" * 64


def one_verdict(lines: Any) -> None:
    line = next(line for line in lines if line.get("verdict") == "failed")
    line["verdict"] = "passed"


def with_error(lines: Any) -> None:
    lines[1]["error"] = {"cause": "x", "message": "y", "remedy": "z"}


def in_summary(*path: Any, to: Any) -> Any:
    """Return a change of a value in the first agent's counts of the closing line."""

    def change(lines: Any) -> None:
        changed(*path, to=to)([lines[-1]])

    return change


CHANGES = {
    "violations emptied": (violations_away, "its violations are not those of its failed checks"),
    "escalation classes": (all_escalated, "its escalation class is correct_escalation, and its checks"),
    "explanation": (all_explained, "its explanation is not the share of its concepts"),
    "passed and failed swapped": (swapped, "do not add up to its summary"),
    "a scenario renamed": (renamed, "their scenarios are not those that the plan divided"),
    "another scenario": (one_hash, "its scenario_sha256 is another one than that of"),
    "a verdict": (one_verdict, "its verdict is passed, and its dimensions say otherwise"),
    "an error": (with_error, "and it has an error"),
    "counted violations": (
        in_summary("agents", 0, "violations", to={"unauthorised_write": 99}),
        "do not add up",
    ),
    "counted classes": (in_summary("agents", 0, "escalation", "classes", to={}), "do not add up"),
    "counted tokens": (in_summary("agents", 0, "usage", "retries", to=3), "do not add up"),
    "counted explanation": (in_summary("agents", 0, "explanation", "mean_share", to=0.9), "do not add up"),
    "counted categories": (in_summary("agents", 0, "categories", "billing", to=[0, 0]), "do not add up"),
    "counted trials": (in_summary("agents", 0, "reliability", "pass_at_1", to=0.99), "do not add up"),
    "verdicts": (in_summary("verdicts", to={"passed": 1, "failed": 0, "error": 0}), "do not add up"),
    "episodes": (in_summary("episodes", to=3), "do not add up"),
    "unreported": (in_summary("unreported", to=["nobody/desk/TB-001/1"]), "do not add up"),
    "what was fixed": (in_summary("comparisons", 0, "fixed", to=["TB-001"]), "do not add up"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_somebody_changed_is_no_part_of_a_run(shards, capsys, kind):
    """A line that contradicts itself, another one or what its file counted: refused with the file's name."""
    change, told = CHANGES[kind]
    rewrite(shards[1], change)
    assert merge(*shards, "--out", "merged.jsonl") == 11
    out = capsys.readouterr().out
    assert told in out
    assert "two.jsonl" in out
    assert not Path("merged.jsonl").exists()


@pytest.mark.parametrize("kind", sorted(CHANGES.keys() - {"a scenario renamed"}))
def test_what_somebody_changed_is_compared_with_nothing(shards, tinybench, capsys, kind):
    """A whole run is refused likewise, but that it has no plan, by which alone a new name is told."""
    change, told = CHANGES[kind]
    shutil.copy(tinybench / "whole.jsonl", "x.jsonl")
    rewrite(Path("x.jsonl"), change)
    assert main(["compare", "x.jsonl"]) == 4
    err = capsys.readouterr().err
    assert err.startswith("supportbench: x.jsonl: ")
    assert told in err or "do not add up" in err


def test_a_shard_is_judged_on_neither_side(shards, tinybench, capsys):
    """What the other shards have is missing of it, so it is no baseline either: merge is named instead."""
    assert main(["baseline", "set", str(shards[0]), "base.json", "--agent", "rules"]) == 4
    err = capsys.readouterr().err
    assert "one.jsonl cannot become a baseline: it is shard 1/3, and lacks the scenarios of the others" in err
    assert "supportbench merge" in err
    assert not Path("base.json").exists()
    shutil.copy(shards[0], "again.jsonl")
    whole = str(tinybench / "whole.jsonl")
    assert main(["baseline", "set", whole, "base.json", "--agent", "rules"]) == 0
    for before, now in (("one.jsonl", "again.jsonl"), ("one.jsonl", whole), ("base.json", "one.jsonl")):
        code = main(["compare", before, now])
        out = " ".join(capsys.readouterr().out.split())
        assert "PASS:" not in out
        assert ("the baseline is shard 1/3 of a run" in out) == (before == "one.jsonl")
        assert code == 11
