"""Where the agent under test comes from, and what a user hears when it does not come."""

from __future__ import annotations

import pytest
from projects import last_run, project, scenario, start, suite

GOOD = "{'action': 'answer', 'message': 'We are open from nine to five.'}"

HOOKS = f"""
class Desk:
    def reply(self, observation):
        return {GOOD}

def pytest_supportbench_agents(config):
    return {{"front-desk": Desk(), "lazy": lambda observation: {{"action": "decline", "message": "No."}}}}
"""

WHOLE = {"shard": None, "plan": None}
"""What the run line says of a run that is no shard."""


def agents_of(pytester):
    """Return which agents the newest run's episodes name."""
    return [line["agent"] for line in last_run(pytester).episodes]


def test_command_line_beats_environment_beats_ini(plain, pytester, monkeypatch):
    """The agent of the command line wins over the environment's, and that one over the ini file's."""
    project(pytester)
    (pytester.path / "pytest.toml").write_text(
        '[pytest]\nsupportbench_agent = ["always-ask"]\n', encoding="utf-8"
    )
    plain()
    assert agents_of(pytester) == ["always-ask"]
    monkeypatch.setenv("SUPPORTBENCH_AGENT", "do-nothing")
    plain()
    assert agents_of(pytester) == ["do-nothing"]
    plain("--supportbench-agent=oracle")
    assert agents_of(pytester) == ["oracle"]


def test_numbers_come_from_command_line_environment_or_ini(plain, pytester, monkeypatch):
    """Numeric settings follow the same order, and are plain numbers in a TOML file."""
    project(pytester)
    (pytester.path / "pytest.toml").write_text(
        "[pytest]\nsupportbench_trials = 2\nsupportbench_max_turns = 3\nsupportbench_timeout = 7\n",
        encoding="utf-8",
    )
    plain("--supportbench-agent=do-nothing")
    run = last_run(pytester)
    assert run.run["settings"] == {"trials": 2, "max_turns": 3, "timeout": 7.0, **WHOLE}
    assert [line["usage"]["turns"] for line in run.episodes] == [3, 3]
    monkeypatch.setenv("SUPPORTBENCH_MAX_TURNS", "2")
    plain("--supportbench-agent=do-nothing", "--supportbench-trials=1")
    assert last_run(pytester).run["settings"] == {"trials": 1, "max_turns": 2, "timeout": 7.0, **WHOLE}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("SUPPORTBENCH_AGENTS", "SUPPORTBENCH_AGENT"),
        ("SUPPORTBENCH_TRIAL", "SUPPORTBENCH_TRIALS"),
        ("SUPPORTBENCH_CASETTE", "SUPPORTBENCH_CASSETTE"),
        ("SUPPORTBENCH_MAXTOKENS", "SUPPORTBENCH_MAX_TOKENS"),
    ],
)
def test_a_mistyped_variable_is_a_usage_error(plain, pytester, monkeypatch, name, meant):
    """A variable that is named nearly as one of ours is told instead of doing nothing."""
    project(pytester)
    monkeypatch.setenv(name, "3")
    result = plain("--supportbench-agent=oracle")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [f"*variable {name} means nothing; did you mean {meant}? Rename it, or unset it"]
    )


@pytest.mark.parametrize(
    "name",
    ["SUPPORTBENCH_DESK_KEY", "MY_SUPPORTBENCH_AGENTS", "SUPPORTBENCH_KEYWORDS", "SUPPORTBENCH_AGENT_2"],
)
def test_a_variable_of_somebody_elses_is_left_alone(plain, pytester, monkeypatch, name):
    """What only begins like our variables, or marks a program that an agent started, stops nothing."""
    project(pytester)
    monkeypatch.setenv(name, "3")
    assert plain("--supportbench-agent=oracle").ret == 0


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--supportbench-trials=0", "--supportbench-trials: '0' is not a whole number of at least 1"),
        ("--supportbench-trials=many", "--supportbench-trials: 'many' is not a whole number of at least 1"),
        ("--supportbench-concurrency=-1", "--supportbench-concurrency: '-1' is not a whole number*"),
        ("--supportbench-max-turns=1.5", "--supportbench-max-turns: '1.5' is not a whole number*"),
        ("--supportbench-timeout=nan", "--supportbench-timeout: 'nan' is not a number of seconds above 0"),
        ("--supportbench-timeout=inf", "--supportbench-timeout: 'inf' is not a number of seconds above 0"),
        ("--supportbench-agent=ollama", "agent 'ollama': kind 'ollama' needs a target*"),
        ("--supportbench-agent=rules:x", "*takes no target*"),
        ("--supportbench-agent=oracel:x", "*is no kind of agent; did you mean 'oracle'?*"),
        ("--supportbench-agent=agents/none.yaml", "*there is no file*"),
        ("--supportbench-agent=", "an agent spec is empty*"),
        ("--supportbench-agent=python:x:y?a", "*option 'a' is not key=value*"),
    ],
)
def test_a_bad_option_is_a_usage_error_before_anything_runs(plain, pytester, argument, message):
    """A bad option value ends pytest at once with exit code 4, the value and the remedy, and no traceback."""
    project(pytester)
    result = plain(argument)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert "Traceback" not in result.stderr.str()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "pytest.toml",
            '[pytest]\nsupportbench_trials = "two"\n',
            "ERROR: ini option supportbench_trials: *",
        ),
        (
            "pytest.ini",
            "[pytest]\nsupportbench_timeout = soon\n",
            "ERROR: ini option supportbench_timeout: *'soon'",
        ),
        (
            "pytest.toml",
            '[pytest]\nsupportbench_agent = "rules"\n',
            "ERROR: ini option supportbench_agent: *list*",
        ),
    ],
)
def test_a_bad_ini_value_is_a_usage_error(plain, pytester, name, text, message):
    """A value of the wrong type in the ini file is named, with exit code 4 and no traceback."""
    project(pytester)
    (pytester.path / "pytest.toml").unlink()
    (pytester.path / name).write_text(text, encoding="utf-8")
    result = plain()
    assert result.ret == 4
    result.stderr.fnmatch_lines([message])


def test_a_missing_agent_is_reported_when_a_scenario_runs(plain, pytester):
    """Without an agent each scenario errors at set-up, listing what exists, and the exit code is 4."""
    project(pytester, [1, 2])
    pytester.makeconftest(HOOKS)
    pytester.makepyfile("def test_other(): pass")
    result = plain()
    result.assert_outcomes(passed=1, errors=2)
    assert result.ret == 4
    result.stdout.fnmatch_lines(
        [
            "no agent is configured; name one with --supportbench-agent=SPEC*",
            "kinds: rules, oracle, *",
            "registered by hooks: front-desk, lazy",
            "as above: no agent is configured; name one with --supportbench-agent=SPEC*",
        ]
    )
    assert not (pytester.path / ".supportbench").exists()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nobody", "there is no agent 'nobody'"),
        ("nobody", "registered by hooks: front-desk, lazy"),
        ("rulez", "there is no agent 'rulez'; did you mean 'rules'?"),
        ("front-dask", "there is no agent 'front-dask'; did you mean 'front-desk'?"),
        ("python:no_such_module:reply", "*there is no module 'no_such_module'*pythonpath*"),
        ("python:desk_agents:god", "*'desk_agents' has no 'god'; did you mean 'good'?"),
    ],
)
def test_an_unknown_agent_is_a_setup_error(plain, pytester, spec, message):
    """A name that nothing serves errors where a scenario runs, lists what exists, and exits with 4."""
    project(pytester)
    pytester.makeconftest(HOOKS)
    result = plain(f"--supportbench-agent={spec}")
    result.assert_outcomes(errors=1)
    assert result.ret == 4
    result.stdout.fnmatch_lines([message])
    assert "Traceback" not in result.stdout.str()


def test_hooks_register_agents_by_name(plain, pytester):
    """Agents that a conftest registers are found by their names, functions and objects alike."""
    project(pytester)
    pytester.makeconftest(HOOKS)
    result = plain("--supportbench-agent=front-desk", "--supportbench-agent=lazy")
    result.assert_outcomes(passed=1, failed=1)
    assert agents_of(pytester) == ["front-desk", "lazy"]


def test_hooks_register_toolsets_by_name(plain, pytester):
    """A suite's ``toolset`` finds the class that a conftest registers under that name."""
    folder = project(pytester)
    pytester.makeconftest(
        """
        from pytest_supportbench.toolsets.saas import SaasToolset

        def pytest_supportbench_toolsets(config):
            return {"our-desk": SaasToolset}
        """
    )
    with (folder / "suite.yaml").open("a", encoding="utf-8") as file:
        file.write("toolset: our-desk\n")
    plain("--supportbench-agent=oracle").assert_outcomes(passed=1)


def test_a_fixture_override_serves_its_folder_only(plain, pytester):
    """An overriding ``supportbench_agent`` serves the items below its conftest, inline, and nobody else."""
    mine, other = pytester.path / "a_mine", pytester.path / "b_other"
    project(pytester, [])
    for number, folder in ((1, mine), (2, other)):
        suite(folder, folder.name)
        scenario(folder, number)
    (mine / "conftest.py").write_text(
        "import threading, pytest\n"
        "@pytest.fixture\n"
        "def supportbench_agent():\n"
        "    def in_house(observation):\n"
        "        assert threading.current_thread() is threading.main_thread()\n"
        f"        return {GOOD}\n"
        "    return in_house\n",
        encoding="utf-8",
    )
    result = plain("-v", "--supportbench-agent=do-nothing")
    result.stdout.fnmatch_lines(["*a_mine/*::TB-001 PASSED*", "*b_other/*::TB-002 FAILED*"])
    assert [(line["scenario"], line["agent"]) for line in last_run(pytester).episodes] == [
        ("TB-001", "in_house"),
        ("TB-002", "do-nothing"),
    ]


def test_a_fixture_of_a_configured_name_leaves_the_configured_agent_alone(plain, pytester):
    """A fixture's agent that is called like the configured one does not take its place elsewhere."""
    mine, other = pytester.path / "a_mine", pytester.path / "b_other"
    project(pytester, [])
    for number, folder in ((1, mine), (2, other)):
        suite(folder, folder.name)
        scenario(folder, number)
    (mine / "conftest.py").write_text(
        "import pytest\n"
        "class Oracle:\n"
        "    __name__ = 'oracle'\n"
        "    def reply(self, observation):\n"
        "        return {'action': 'decline', 'message': 'No.'}\n"
        "@pytest.fixture\n"
        "def supportbench_agent():\n"
        "    return Oracle()\n",
        encoding="utf-8",
    )
    plain("--supportbench-agent=oracle").assert_outcomes(failed=1, passed=1)
    assert agents_of(pytester) == ["oracle.fixture", "oracle"]


def test_a_fixture_may_pass_the_configured_agent_on(plain, pytester):
    """An override that returns the agent it got runs that agent under its own name."""
    folder = project(pytester)
    (folder / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef supportbench_agent(supportbench_agent):\n    return supportbench_agent\n",
        encoding="utf-8",
    )
    plain("--supportbench-agent=oracle").assert_outcomes(passed=1)
    assert agents_of(pytester) == ["oracle"]


def test_a_fixture_that_returns_no_agent_is_named(plain, pytester):
    """A fixture that returns something that cannot be called is a usage error without a traceback of ours."""
    folder = project(pytester)
    (folder / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef supportbench_agent():\n    return 'rules'\n", encoding="utf-8"
    )
    result = plain()
    result.assert_outcomes(errors=1)
    assert result.ret == 4
    result.stdout.fnmatch_lines(["agent 'str': str is a str, not callable; name a function*"])
    assert "session.py" not in result.stdout.str()


def test_a_test_of_the_users_own_can_run_a_scenario(plain, pytester):
    """``supportbench.run`` runs a file beside the test, with the configured agent or a given one, and counts it."""
    project(pytester, [1, 2])
    pytester.makepyfile(
        """
        import pytest

        def test_configured(supportbench):
            run = supportbench.run("desk/case001.scenario.yaml")
            assert run.verdict == "passed"
            assert run.score.dimensions["resolution"].passed
            run.assert_passed()

        def test_given(supportbench):
            run = supportbench.run("desk/case001.scenario.yaml", agent=lambda observation: {"action": "decline"})
            assert run.verdict == "failed"
            with pytest.raises(pytest.fail.Exception, match="TB-001 with lambda: failed resolution"):
                run.assert_passed()

        def test_fails(supportbench):
            supportbench.run("desk/case002.scenario.yaml", agent=lambda observation: None).assert_passed()
        """
    )
    result = plain("--supportbench-agent=oracle", "test_a_test_of_the_users_own_can_run_a_scenario.py")
    result.assert_outcomes(passed=2, failed=1)
    text = result.stdout.str()
    assert "run by your own tests: 3 episodes, 1 strict pass\n" in text
    assert "passed all four" not in text
    assert ">   " in text
    assert "supportbench.run(" in text.partition(">   ")[2].partition("\n")[0]
    assert "run.py" not in text
    assert sorted(agents_of(pytester)) == ["lambda", "lambda", "oracle"]
    run = last_run(pytester)
    assert {line["own"] for line in run.episodes} == {True}
    assert (run.summary["agents"], run.summary["unreported"]) == ([], [])


def test_a_given_agent_needs_no_configured_one(plain, pytester):
    """A test that brings its agent runs where none is configured."""
    project(pytester)
    pytester.makepyfile(
        f"def test_own(supportbench):\n"
        f"    supportbench.run('desk/case001.scenario.yaml', agent=lambda observation: {GOOD}).assert_passed()\n"
    )
    result = plain("test_a_given_agent_needs_no_configured_one.py")
    result.assert_outcomes(passed=1)


def test_own_tests_hear_what_is_wrong_with_a_file(plain, pytester):
    """A broken or missing scenario file fails the user's test with its position and no traceback of ours."""
    folder = project(pytester)
    (folder / "case001.scenario.yaml").write_text("id: [", encoding="utf-8")
    pytester.makepyfile(
        test_own="def test_broken(supportbench):\n    supportbench.run('desk/case001.scenario.yaml')\n"
        "def test_missing(supportbench):\n    supportbench.run('desk/none.scenario.yaml')\n"
    )
    result = plain("--supportbench-agent=oracle", "test_own.py")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*case001.scenario.yaml:2:1: this is no YAML*",
            "*none.scenario.yaml:1:1: cannot be read: no such file*",
        ]
    )
    assert "loading.py" not in result.stdout.str()
    assert result.ret == 4


def test_item_fixtures_send_own_tests_to_the_right_fixture(plain, pytester):
    """A test of the user's own that asks for ``supportbench_run`` is told to ask for ``supportbench``."""
    project(pytester)
    pytester.makepyfile(test_own="def test_own(supportbench_run): pass")
    result = plain("--supportbench-agent=oracle", "test_own.py")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*request the fixture 'supportbench' and call supportbench.run(*"])


def test_secrets_in_a_spec_are_not_shown(plain, pytester):
    """A password in an agent's options appears neither on the terminal nor in results."""
    project(pytester)
    result = plain("-v", "--supportbench-agent=ollama:m?host=http://me:hunter2@127.0.0.1:9")
    result.assert_outcomes(errors=1)
    assert "hunter2" not in result.stdout.str() + result.stderr.str()
    assert "hunter2" not in (pytester.path / ".supportbench" / "last-run.jsonl").read_text(encoding="utf-8")


OVERRIDE = f"""
import pytest

@pytest.fixture
def supportbench_agent():
    def in_house(observation):
        return {GOOD}
    return in_house
"""


def test_an_override_is_not_multiplied_by_configured_agents(run, pytester):
    """A fixture of one's own is judged once; the items of further configured agents are skipped and say why."""
    folder = project(pytester, [1, 2])
    (folder / "conftest.py").write_text(OVERRIDE, encoding="utf-8")
    result = run("-rs", "--supportbench-agent=rules", "--supportbench-agent=oracle")
    result.assert_outcomes(passed=2, skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*the fixture supportbench_agent overrides the configured agents"])
    assert agents_of(pytester) == ["in_house", "in_house"]


def test_an_override_that_wraps_the_configured_agent_runs_for_each(plain, pytester):
    """A fixture that builds on each configured agent is judged with each, under names that tell them apart."""
    folder = project(pytester)
    (folder / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef supportbench_agent(supportbench_agent):\n"
        "    def wrapped(observation):\n        return supportbench_agent.reply(observation)\n    return wrapped\n",
        encoding="utf-8",
    )
    plain("--supportbench-agent=do-nothing", "--supportbench-agent=always-ask")
    assert agents_of(pytester) == ["wrapped-do-nothing", "wrapped-always-ask"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "def pytest_supportbench_agents(config): return [1]",
            "agents returned a list; it must return a mapping",
        ),
        (
            "def pytest_supportbench_toolsets(config): return ['x']",
            "toolsets returned a list; it must return",
        ),
        ("def pytest_supportbench_agents(config): return {1: print}", "agents returned the name 1, a int"),
        ("def pytest_supportbench_agents(config): 1 / 0", "agents failed; mend this first:*"),
    ],
)
def test_a_broken_hook_is_one_usage_error(plain, pytester, body, message):
    """A hook that raises or returns no mapping of names is told once for all files, with exit code 4."""
    project(pytester, [1, 2, 3])
    pytester.makeconftest(body)
    result = plain("--supportbench-agent=rules")
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == 4, text
    assert "INTERNALERROR" not in text
    hook = "the hook pytest_supportbench_"
    assert f"{hook}{message.rstrip('*')}" in text
    assert "access.py" not in text
    assert "_hookexec" not in text
    assert text.count(hook) == 1
    workers = plain("-n", "2", "--supportbench-agent=rules")
    assert workers.ret != 0
    assert f"{hook}{message.rstrip('*')}" in workers.stdout.str()
    assert "INTERNALERROR" not in workers.stdout.str()


def test_a_given_agent_may_be_a_spec(plain, pytester):
    """``supportbench.run`` takes a spec: a built-in kind, a registered name, or the configured agent itself."""
    project(pytester)
    pytester.makeconftest(HOOKS)
    pytester.makepyfile(
        test_own="""
        import pytest
        FILE = "desk/case001.scenario.yaml"

        def test_specs(supportbench):
            assert repr(supportbench.run(FILE, agent="oracle")) == (
                "Run(scenario='TB-001', agent='oracle', verdict='passed', failed_dimensions=[])")
            assert supportbench.run(FILE, agent="front-desk").verdict == "passed"
            run = supportbench.run(FILE, agent="lazy")
            assert repr(run) == (
                "Run(scenario='TB-001', agent='lazy', verdict='failed', "
                "failed_dimensions=['resolution', 'escalation'])")

        def test_wrong(supportbench):
            supportbench.run(FILE, agent="orakle")
        """
    )
    result = plain("--supportbench-agent=oracle", "test_own.py")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["there is no agent 'orakle'; did you mean 'oracle'?"])
    assert agents_of(pytester) == ["oracle", "front-desk", "lazy"]


def test_a_fixture_that_returns_none_is_named(plain, pytester):
    """A fixture without a return statement is told what to return."""
    folder = project(pytester)
    (folder / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef supportbench_agent():\n    pass\n", encoding="utf-8"
    )
    result = plain()
    assert result.ret == 4
    result.stdout.fnmatch_lines(
        ["the fixture supportbench_agent returned None; return a callable or an object with reply()"]
    )


def test_own_episodes_leave_the_agents_counts_alone(run, pytester):
    """Episodes of tests of the user's own are counted on a line of their own, beside the scenario items' table."""
    project(pytester, [1, 2])
    pytester.makepyfile(
        test_own="def test_own(supportbench):\n"
        "    assert supportbench.run('desk/case001.scenario.yaml', agent='do-nothing').verdict == 'failed'\n"
        "    assert supportbench.run('desk/case001.scenario.yaml').verdict == 'passed'\n"
    )
    result = run("--supportbench-agent=oracle", "desk", "test_own.py")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["oracle: 2/2 (100 %)*", "run by your own tests: 2 episodes, 1 strict pass"], consecutive=False
    )
    assert "do-nothing:" not in result.stdout.str()
    closing = last_run(pytester).summary
    assert [(line["agent"], line["strict"]) for line in closing["agents"]] == [("oracle", [2, 2])]


def test_the_results_path_is_typed_from_where_pytest_was_called(plain, pytester, monkeypatch):
    """The summary names the results file relative to the current folder when it is below, else in full."""
    project(pytester)
    plain("--supportbench-agent=oracle").stdout.fnmatch_lines(["results: .supportbench/runs/*"])
    monkeypatch.chdir(pytester.path / "desk")
    plain("--supportbench-agent=oracle").stdout.fnmatch_lines(
        [f"results: {pytester.path}/.supportbench/runs/*"]
    )
    result = plain("--supportbench-agent=oracle", "--supportbench-results=here.jsonl")
    result.stdout.fnmatch_lines(["results: here.jsonl"])


@pytest.mark.parametrize("name", ["noparam", "later"])
def test_a_function_without_a_parameter_is_told_that_it_takes_one(plain, pytester, name):
    """A reply function that forgot its parameter is no factory of anything, and hears what is missing."""
    project(
        pytester,
        agents="""
        def noparam():
            return GOOD

        async def later():
            return GOOD
        """,
    )
    result = plain(f"--supportbench-agent=python:desk_agents:{name}")
    assert result.ret == 4
    result.stdout.fnmatch_lines(["*not callable; a reply function takes one parameter, the observation"])
    pytester.makeconftest(
        f"import desk_agents\ndef pytest_supportbench_agents(config): return {{'desk': desk_agents.{name}}}"
    )
    result = plain("--supportbench-agent=desk", "-p", "no:cacheprovider", "-o", "pythonpath=.")
    assert result.ret == 4
    result.stdout.fnmatch_lines(["*a reply function takes one parameter, the observation"])


def test_a_path_on_the_command_line_is_where_the_user_is_and_one_of_the_ini_file_below_the_root(pytester):
    """From a folder below the root both ways of naming an agent file work; the ini file's are relative to the root."""
    folder = project(pytester, [1])
    (folder / "mine.yaml").write_text("kind: rules\n", encoding="utf-8")

    def header(*args: str) -> str:
        return start(pytester, "--collect-only", *args, folder=folder).communicate(timeout=120)[0]

    for text in ("mine.yaml", "desk/mine.yaml"):
        assert "supportbench agents: mine" in header(f"--supportbench-agent={text}")
    (pytester.path / "pytest.toml").write_text(
        '[pytest]\nsupportbench_agent = ["desk/mine.yaml"]\n', encoding="utf-8"
    )
    assert "supportbench agents: mine" in header()
