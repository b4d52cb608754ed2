"""Episodes on a Dask cluster: the same results as here, whatever becomes of the workers."""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from clusters import DaskProcesses, cluster, wait_for
from projects import agent, last_run, normalised, project, start, verdicts

from pytest_supportbench.agents.spec import parse_spec
from pytest_supportbench.cluster import Cluster, ExecutorSpec, parse_executor
from pytest_supportbench.errors import InfrastructureError, UsageError
from pytest_supportbench.records import Limits
from pytest_supportbench.remote_orders import Assignment, Order, Unfit, facts, pack
from pytest_supportbench.remote_work import work

pytestmark = pytest.mark.filterwarnings(
    # Sockets of a connection that is closed within a second are left to the garbage collection by Dask's client.
    "ignore:unclosed:ResourceWarning",
)

SECRET = "sk-of-the-worker-4711-abcdef"
OTHER_SECRET = "sk-of-the-second-0815-fedcba"
SUITE = Path(__file__).parent.parent / "scenarios" / "tinybench-50"

AGENTS = f"""

def slow(observation):
    with open(os.path.join(os.path.dirname(__file__), "started"), "a") as file:
        file.write(f"{{case(observation)}} {{os.getpid()}}\\n")
    time.sleep(0.4)
    return GOOD


def leaks(observation):
    key = os.environ["DESK_API_KEY"]
    print(f"the key is {{key}}")
    logging.getLogger("desk").warning("logged %s", key)
    if case(observation) == 2:
        raise RuntimeError(f"refused {{key}}")
    return {{**GOOD, "message": f"We are open from nine. {{key}}"}}


def hangs_once(observation):
    if case(observation) == 2:
        time.sleep(8)
    return GOOD


def never_ends(observation):
    with open(os.path.join(os.path.dirname(__file__), "started"), "a") as file:
        file.write(f"{{case(observation)}} {{os.getpid()}}\\n")
    time.sleep(0.7)
    return {{"tool_calls": [{{"tool": "add_note", "arguments": {{}}}}]}}


def dies(observation):
    if case(observation) == 1:
        os._exit(3)
    return GOOD


def picky():
    if os.environ.get("DESK_API_KEY") == "{SECRET}":
        raise RuntimeError("no licence for " + os.environ["DESK_API_KEY"])
    return good


def costly(observation):
    from pytest_supportbench.protocol import Reply, Usage
    return Reply(turn=GOOD, usage=Usage(prompt_tokens=60, completion_tokens=40))
"""


@pytest.fixture(scope="module", autouse=True)
def _distributed():
    """Import it before pytester does, which would take half of its changes to this process back."""
    importlib.import_module("distributed")


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """Return a cluster of two workers, each with a secret in its environment."""
    yield from cluster(
        tmp_path_factory.mktemp("dask"), {"DESK_API_KEY": SECRET}, {"DESK_API_KEY": OTHER_SECRET}
    )


def started(pytester):
    """Return the process of each episode that began, case by case."""
    file = pytester.path / "started"
    return [tuple(map(int, line.split())) for line in file.read_text().splitlines()] if file.exists() else []


@contextmanager
def meanwhile(condition, act):
    """Act once a condition holds, while the block runs; that it came to hold is asserted."""
    done = threading.Event()

    def wait():
        wait_for(condition, "the moment to act")
        act()
        done.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    yield
    thread.join(5)
    assert done.is_set()


def test_results_are_those_of_a_local_run(plain, pytester, dask):
    """The oracle and the rules get the same lines from workers as from this process, apart from times."""
    shutil.copytree(SUITE, pytester.path / "suite")
    pytester.makeini("[pytest]\n")
    agents = ("--supportbench-agent=oracle", "--supportbench-agent=rules", "-k", "TB-01")
    local = plain(*agents, "--supportbench-results=local.jsonl")
    there = plain(*agents, "--supportbench-results=there.jsonl", dask.option)
    assert local.ret == there.ret == 1
    assert local.parseoutcomes() == there.parseoutcomes()
    there.stdout.fnmatch_lines([f"supportbench executor: dask:{dask.address}"])
    from pytest_supportbench.results_file import read_run  # noqa: PLC0415 - pytester forgot the other one

    one, other = (normalised(read_run(pytester.path / f"{name}.jsonl")) for name in ("local", "there"))
    assert len(one) == 2 + 2 * 10
    assert one == other


def test_a_worker_that_is_killed_loses_nothing(plain, pytester, dask):
    """A third worker dies with SIGKILL over its episode: another one runs it, and each has one line."""
    project(pytester, range(1, 13), agents=AGENTS)
    victim = dask.worker()
    dask.wait_for_workers(3)
    with meanwhile(lambda: victim.pid in {pid for _, pid in started(pytester)}, victim.kill):
        result = plain(agent("slow"), dask.option, "--supportbench-concurrency=6")
    result.assert_outcomes(passed=12)
    run = last_run(pytester)
    assert run.summary is not None
    assert sorted(line["scenario"] for line in run.episodes) == [f"TB-{case:03}" for case in range(1, 13)]
    assert set(verdicts(run).values()) == {"passed"}
    cases = [case for case, _ in started(pytester)]
    assert len(cases) > len(set(cases)) == 12  # one of them began twice


def test_secrets_of_a_workers_environment_stay_there(plain, pytester, dask):
    """What an agent prints, logs, says and raises of its worker's key is blanked before it is stored or shown."""
    project(pytester, range(1, 9), agents=AGENTS)
    result = plain(agent("leaks"), "-rA", dask.option)
    text = result.stdout.str() + json.dumps(last_run(pytester).episodes)
    assert SECRET not in text
    assert OTHER_SECRET not in text
    assert {line["verdict"] for line in last_run(pytester).episodes if line["scenario"] == "TB-002"} == {
        "failed"
    }
    shown = [line["output"] for line in last_run(pytester).episodes]
    assert all("the key is ***" in output and "logged ***" in output for output in shown)


def test_a_worker_that_cannot_have_the_agent_is_left_out(plain, pytester, dask):
    """The others do its work, and the run says which worker it was and why, without its secrets."""
    project(pytester, range(1, 7), agents=AGENTS)
    result = plain(agent("picky"), dask.option)
    result.assert_outcomes(passed=6)
    for _ in range(3):  # it may be that only the fit worker was asked
        if "left out" in result.stdout.str():
            break
        result = plain(agent("picky"), dask.option)
    found = re.search(
        r"^left out: the worker tcp://\S+ on \S+ cannot have the agent.*no licence.*",
        result.stdout.str(),
        re.MULTILINE | re.DOTALL,
    )
    assert found, result.stdout.str()
    assert SECRET not in result.stdout.str()


def test_a_changed_agent_is_imported_anew(plain, pytester, dask):
    """A worker that outlives a run does not go on with the code of then."""
    project(pytester, range(1, 4))
    plain(agent("good"), dask.option).assert_outcomes(passed=3)
    file = pytester.path / "desk_agents.py"
    file.write_text(file.read_text().replace("return GOOD", "return BAD"))
    plain(agent("good"), dask.option).assert_outcomes(failed=3)


def test_a_call_that_hangs_is_given_up_on_its_worker(plain, pytester, dask):
    """It fails at the limit, as it would here, and the others go on."""
    project(pytester, range(1, 6), agents=AGENTS)
    result = plain(agent("hangs_once"), "--supportbench-timeout=1", dask.option)
    result.assert_outcomes(passed=4, failed=1)
    (hung,) = [line for line in last_run(pytester).episodes if line["verdict"] == "failed"]
    assert (hung["scenario"], hung["ending"]) == ("TB-002", "time_limit")


def test_ctrl_c_ends_at_once_there_as_well(pytester, dask):
    """The run is over within two seconds, and episodes end on the workers at their next call or reply."""
    project(pytester, range(1, 13), agents=AGENTS)
    process = start(
        pytester,
        agent("never_ends"),
        dask.option,
        "--supportbench-concurrency=2",
        "--supportbench-max-turns=99",
    )
    wait_for(lambda: len(started(pytester)) >= 2, "two episodes")
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - begin < 4  # 1.1 s on an idle machine
    assert process.returncode == 2
    assert "KeyboardInterrupt" in out
    assert "Traceback" not in err
    time.sleep(1)
    replies = len(started(pytester))
    time.sleep(1.5)
    assert len(started(pytester)) == replies


def test_no_workers_and_workers_that_die_say_nothing_of_the_agent(plain, pytester, tmp_path_factory):
    """Both are infrastructure errors, exit code 10, with what to do."""
    settings = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    for made in cluster(tmp_path_factory.mktemp("bare"), **settings):
        project(pytester, (1,), agents=AGENTS)
        option = f"{made.option}?wait=0.5"
        result = plain(agent("dies"), option)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(
            ["*(no_workers): *has had no worker for 0.5 s", f"*start some: dask worker {made.address}"]
        )
        made.worker(threads=1)
        result = plain(agent("dies"), f"{made.option}?wait=20")
        assert result.ret == 10
        result.stdout.fnmatch_lines(
            ["*(killed_worker): worker after worker died*", "*the workers' logs: memory*"]
        )
        first = last_run(pytester).episodes[0]
        assert (first["scenario"], first["error"]["cause"]) == ("TB-001", "killed_worker")


def test_a_scheduler_that_is_not_there_is_told_within_seconds(plain, pytester):
    """One error names the address and the remedy, not one for each item."""
    project(pytester, range(1, 4))
    begin = time.monotonic()
    result = plain(agent("good"), "--supportbench-executor=dask:tcp://127.0.0.1:9")
    assert time.monotonic() - begin < 6
    assert result.ret == 4
    text = result.stdout.str() + result.stderr.str()
    assert text.count("no Dask scheduler answers at tcp://127.0.0.1:9") == 1
    assert "dask scheduler --port 9" in text


def test_what_is_no_scheduler_is_told_within_seconds(pytester):
    """A server that takes the connection and says nothing, as a wrong port may, holds nothing up."""
    project(pytester)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        process = start(pytester, agent("good"), f"--supportbench-executor=dask:{address}")
        _, err = process.communicate(timeout=30)
    assert process.returncode == 4
    assert f"no Dask scheduler answers at {address}" in err


def test_without_the_package_the_extra_is_named(plain, pytester, monkeypatch):
    """It is a usage error with the command that installs it."""
    project(pytester)
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = plain(agent("good"), "--supportbench-executor=dask:tcp://127.0.0.1:9")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*pip install 'pytest-supportbench?dask?'*"])


def test_other_versions_are_refused_by_name(plain, pytester, dask, monkeypatch):
    """Both versions are named, and nothing is run."""
    project(pytester)
    here = facts()
    monkeypatch.setattr(platform, "python_version_tuple", lambda: ("3", "99", "0"))
    result = plain(agent("good"), dask.option)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*tcp://*: python is {here['python']} there and 3.99 here"])
    assert not (pytester.path / ".supportbench").exists()


def test_a_worker_of_other_versions_that_comes_later_is_left_out():
    """It says what differs, and begins no episode."""
    limits = Limits()
    told = tuple({**facts(), "pytest-supportbench": "9.9"}.items())
    spec = parse_spec("oracle", Path.cwd())
    order = Order(Assignment("run", "oracle", spec, None, Path.cwd(), (), limits, alone=True, facts=told))
    answer = work(pack(order), "tcp://10.0.0.7:4711", 1)
    assert isinstance(answer, Unfit)
    assert (answer.kind, answer.problem.cause) == ("usage", "worker_versions")
    assert (
        f"pytest-supportbench is {facts()['pytest-supportbench']} there and 9.9 here"
        in answer.problem.message
    )
    assert "tcp://10.0.0.7:4711" in answer.problem.message


class Waiting:
    """A client whose orders wait until their workers change."""

    status = "running"

    def __init__(self, *moments):
        self.moments = list(moments)
        self.asked = []

    def submit(self, *_, workers, **__):
        self.asked.append(workers)
        return self

    def result(self, timeout):
        moment = self.moments.pop(0)
        if callable(moment):
            moment()
            raise TimeoutError
        return moment

    def cancel(self):
        self.asked.append("cancelled")


def test_where_only_workers_are_left_that_cannot_others_are_waited_for():
    """An order that waits for workers that are gone goes to one that came, and ends where none comes."""
    cluster = Cluster(ExecutorSpec("tcp://127.0.0.1:9", wait=0.2), "run")
    cluster._threads = {"unfit": 1, "fit": 1}
    cluster._client = client = Waiting(
        lambda: cluster._threads.update(new=1) or cluster._threads.pop("fit"), "done"
    )
    assert cluster.ask(b"", ["unfit"]) == "done"
    assert client.asked == [["fit"], "cancelled", ["new"]]
    cluster._client = Waiting(lambda: cluster._threads.pop("new"))
    with pytest.raises(InfrastructureError, match=r"no worker for 0\.2 s that can do this"):
        cluster.ask(b"", ["unfit"])


def test_a_budget_of_tokens_holds_for_all_workers(plain, pytester, dask):
    """No episode starts once those of all workers together have spent it."""
    project(pytester, range(1, 9), agents=AGENTS)
    result = plain(
        agent("costly"), "--supportbench-max-tokens=250", "--supportbench-concurrency=1", dask.option
    )
    assert len(last_run(pytester).episodes) == 3
    result.stdout.fnmatch_lines(["*--supportbench-max-tokens=250 is used up*"])


@pytest.mark.parametrize(
    ("conftest", "options", "said"),
    [
        ("", ["-n", "2"], "pytest-xdist's -n do not go together"),
        ("", ["--supportbench-cassette=tapes"], "--supportbench-cassette do not go together"),
        (
            "def pytest_supportbench_agents(config): return {'mine': lambda seen: {}}",
            ["--supportbench-agent=mine"],
            "the agent 'mine' is an object of this process, which a hook registers; it cannot travel",
        ),
    ],
)
def test_what_cannot_be_on_a_cluster_is_refused(plain, pytester, conftest, options, said):
    """Before anything is connected, and with what to do."""
    project(pytester)
    pytester.makeconftest(conftest)
    result = plain("--supportbench-executor=dask:tcp://127.0.0.1:9", *options)
    assert result.ret == 4
    assert said in result.stderr.str()


def test_an_agent_that_a_fixture_returns_cannot_travel(plain, pytester, dask):
    """A scenario says so; a test of the user's own runs it here, and configured agents there."""
    project(pytester)
    pytester.makeconftest("""
        import pytest
        from desk_agents import good

        @pytest.fixture
        def supportbench_agent():
            return good
    """)
    pytester.makepyfile("""
        import os
        from desk_agents import good

        def test_own(supportbench):
            seen = []
            def here(observation):
                seen.append(os.getpid())
                return good(observation)
            supportbench.run("desk/case001.scenario.yaml", agent=here).assert_passed()
            assert seen == [os.getpid()]
            supportbench.run("desk/case001.scenario.yaml", agent="oracle").assert_passed()
    """)
    result = plain(dask.option)
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 4
    result.stdout.fnmatch_lines(
        ["*which a fixture returns; it cannot travel. Name it as python:module:callable*"]
    )


@pytest.mark.parametrize(
    "text",
    ["dask", "dask:", "dask:127.0.0.1:8786", "dask:tcp://h", "dask:tcp://h:0", "dask:tcp://h:1?x=1", "ray:h"],
)
def test_what_is_no_executor_is_refused(text):
    """The error quotes it, or the part that is wrong."""
    with pytest.raises(UsageError, match="executor"):
        parse_executor(text)


def no_namespaces():
    """Return why no network namespaces can be made here, empty where they can."""
    if shutil.which("ip") is None:
        return "the command ip is not there (package iproute2)"
    made = subprocess.run(
        ["ip", "netns", "add", "supportbench-try"], capture_output=True, text=True, check=False
    )
    subprocess.run(["ip", "netns", "del", "supportbench-try"], capture_output=True, check=False)
    return made.stderr.strip()


@pytest.fixture
def hosts():
    """Return two network namespaces, each linked to this one: name, our address and its own."""
    if why := no_namespaces():
        pytest.skip(f"no network namespaces: {why}")

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    made = [(f"sb{os.getpid() % 100_000}{side}", f"10.213.{side}.1", f"10.213.{side}.2") for side in (1, 2)]
    for name, ours, theirs in made:
        ip("netns", "add", name)
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b")
        ip("link", "set", f"{name}b", "netns", name)
        ip("addr", "add", f"{ours}/24", "dev", f"{name}a")
        ip("link", "set", f"{name}a", "up")
        ip("-n", name, "addr", "add", f"{theirs}/24", "dev", f"{name}b")
        ip("-n", name, "link", "set", f"{name}b", "up")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "route", "add", "default", "via", ours)
    yield made
    for name, _, _ in made:
        subprocess.run(["ip", "netns", "del", name], check=False)


def test_a_host_that_is_cut_off_loses_nothing(plain, pytester, hosts, tmp_path_factory):
    """Workers of two other hosts; the network of one goes in mid-run, and the other one finishes."""
    project(pytester, range(1, 9), agents=AGENTS)
    (cut, _, first), (kept, ours, second) = hosts
    made = DaskProcesses(tmp_path_factory.mktemp("hosts"), ours, DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="2s")
    try:
        for name, address in ((cut, first), (kept, second)):
            made.worker(address, ("ip", "netns", "exec", name), threads=1)
        made.wait_for_workers(2)
        cutting = ["ip", "link", "set", f"{cut}a", "down"]
        with meanwhile(lambda: len(started(pytester)) >= 4, lambda: subprocess.run(cutting, check=True)):
            result = plain(agent("slow"), made.option, "--supportbench-concurrency=2")
    finally:
        made.close()
    result.assert_outcomes(passed=8)
    assert len({pid for _, pid in started(pytester)}) == 2
    assert sorted(line["scenario"] for line in last_run(pytester).episodes) == [
        f"TB-00{n}" for n in range(1, 9)
    ]
