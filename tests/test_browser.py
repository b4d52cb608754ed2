"""The HTML report in a real browser: it looks right, works by mouse and keyboard, and asks for nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import html_reports
import pytest
from browsing import browser_running, is_blank, opened, overflow, problems, pytest_command, surroundings
from shared_work import once

ROOT = Path(__file__).parent.parent
RUNS = {
    "failures": ["--supportbench-agent=rules"],
    "incomplete": ["--supportbench-agent=rules", "-x"],
    "two-agents": ["--supportbench-agent=rules", "--supportbench-agent=call-every-tool"],
}
CHECKED = {("light", "desktop"), ("dark", "phone")}
"""Each scheme and each size is checked by axe, which takes seconds, once."""
SIZES = {"desktop": (1280, 900), "phone": (360, 780)}


@pytest.fixture(scope="module")
def browser():
    """Return a browser that is running."""
    with browser_running() as running:
        yield running


@pytest.fixture(scope="session")
def reports(tmp_path_factory, compiled):
    """Return real reports by the name of their run, of the scenarios tagged pilot."""
    folder = once(tmp_path_factory, "reports", lambda folder: report(folder, compiled))
    return {name: folder / f"{name}.html" for name in RUNS}


def report(folder, compiled):
    """Run what the reports are of."""
    shutil.copytree(ROOT / "scenarios" / "tinybench-50", folder / "scenarios")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    tagged = ("scenarios", "-m", 'supportbench_tag(name="pilot")')
    running = {
        name: subprocess.Popen(
            pytest_command(*tagged, f"--html={name}.html", *options),
            cwd=folder,
            env=surroundings(compiled),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for name, options in RUNS.items()
    }
    for process in running.values():
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 1, out


@pytest.fixture(scope="module")
def thousand(reports, tmp_path_factory):
    """Return a report of 1,150 episodes."""
    path = tmp_path_factory.mktemp("thousand") / "report.html"
    path.write_text(html_reports.multiplied(reports["two-agents"], 1_150), encoding="utf-8")
    return path


def rows(page):
    """Return the ids of the rows that are shown."""
    return page.locator(".sb-row .sb-id").all_inner_texts()


def toggle(page, name):
    """Return the button that opens a row."""
    return page.locator(".sb-toggle", has=page.locator(f".sb-id:text-is('{name}')"))


def unfold(page):
    """Open the first story with all its parts, and pytest-html's list with its first log."""
    page.locator(".sb-toggle").first.click()
    page.wait_for_selector(".sb-story")
    page.evaluate(
        "document.querySelectorAll('.sb-story details, #sb-pytest').forEach((it) => { it.open = true; })"
    )
    page.wait_for_selector("#results-table .col-result")
    page.click("#hide_all_details")
    page.locator("#results-table .col-result").first.click()


@pytest.mark.parametrize("name", RUNS)
def test_every_run_is_readable_in_light_and_dark_on_desk_and_phone(browser, reports, tmp_path, name):
    """Axe finds nothing wrong, nothing is wider than the window, and the page is no blank sheet."""
    folder = Path(os.environ.get("SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    with opened(browser, reports[name]) as (page, seen):
        shots = []
        for part, opening in (("", lambda _: None), ("-open", unfold)):
            opening(page)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                for size, (width, height) in SIZES.items():
                    page.set_viewport_size({"width": width, "height": height})
                    path = folder / f"report-{name}-{scheme}-{size}{part}.png"
                    shots.append(page.screenshot(path=path, full_page=not part))
                    assert overflow(page) == 0, path.name
                    if part and (scheme, size) in CHECKED:
                        assert problems(page) == [], path.name
        assert not any(map(is_blank, shots))
        assert len(set(shots)) == len(shots)
        assert seen.requests == [reports[name].as_uri()]
        assert (seen.dialogs, seen.errors, seen.refused) == ([], [], [])


def test_filters_narrow_the_table_and_can_be_reset(browser, reports):
    """Area, dimension, violation, agent, outcome and text each leave what fits, alone and together."""
    with opened(browser, reports["two-agents"]) as (page, _):
        whole = html_reports.read(reports["two-agents"]).rows
        assert len(rows(page)) == len(whole) == 20
        for select, value, fits in (
            ("area", "billing", lambda row: row["area"] == "billing"),
            ("outcome", "failed", lambda row: row["outcome"] == "failed"),
            ("agent", "rules", lambda row: row["agent"] == "rules"),
            ("dimension", "policy", lambda row: row["dimensions"][1] == 0),
            ("violation", "unauthorised_write", lambda row: "unauthorised_write" in row["violations"]),
        ):
            page.select_option(f"#sb-{select}", value)
            wanted = {row["name"] for row in whole if fits(row)}
            assert 0 < len(wanted) < len(whole), select
            assert set(rows(page)) == wanted
            assert page.inner_text("#sb-count") == f"{len(wanted)} of 20 shown"
            page.click("text=Show all")
            assert len(rows(page)) == 20
        page.fill("#sb-text", "RENEWAL")
        titles = page.locator(".sb-row .sb-title").all_inner_texts()
        assert titles
        assert all("renewal" in title.lower() for title in titles)
        page.select_option("#sb-agent", "rules")
        assert all("[rules]" in name for name in rows(page))
        page.fill("#sb-text", "no such thing")
        assert rows(page) == []
        assert "Nothing fits these filters" in page.inner_text("#sb-rows")


def test_headers_sort_by_mouse_and_keyboard(browser, reports):
    """A header sorts by its column, again the other way, says so, and keeps the focus."""
    with opened(browser, reports["two-agents"]) as (page, _):
        heads = page.locator("#sb-head th")
        assert heads.nth(1).get_attribute("aria-sort") == "ascending"
        first = page.locator(".sb-row td[data-label=Outcome]").first
        assert "failed" in first.inner_text()
        page.locator("#sb-head button", has_text="Scenario").focus()
        page.keyboard.press("Enter")
        assert rows(page) == sorted(rows(page))
        assert heads.nth(0).get_attribute("aria-sort") == "ascending"
        page.keyboard.press("Enter")
        assert rows(page) == sorted(rows(page), reverse=True)
        assert heads.nth(0).get_attribute("aria-sort") == "descending"
        assert heads.nth(1).get_attribute("aria-sort") == "none"
        page.locator("#sb-head button", has_text="Turns").click()
        turns = [int(text) for text in page.locator(".sb-row td[data-label=Turns]").all_inner_texts()]
        assert turns == sorted(turns)


def test_a_deep_link_opens_its_scenario(browser, reports):
    """A link leads to an open story in sight, resets filters that hide it, and works again while the page is open."""
    in_sight = """(selector) => {
        const top = document.querySelector(selector).getBoundingClientRect().top;
        return top >= -1 && top < innerHeight;
    }"""
    with opened(browser, reports["two-agents"], "#TB-007%5Brules%5D") as (page, _):
        page.wait_for_selector(".sb-story")
        assert page.get_attribute(".sb-story", "aria-label") == "TB-007[rules]"
        assert page.evaluate(in_sight, ".sb-linked")
        assert toggle(page, "TB-007[rules]").evaluate("(it) => it === document.activeElement")
        page.select_option("#sb-area", "billing")
        assert "TB-007[rules]" not in rows(page)
        page.evaluate("location.hash = '#TB-003%5Brules%5D'")
        page.wait_for_selector("article[aria-label='TB-003[rules]']")
        assert page.input_value("#sb-area") == ""
        assert page.evaluate(in_sight, ".sb-linked")
        page.locator("a", has_text="TB-002").first.click()
        page.wait_for_selector("article[aria-label='TB-002[call-every-tool]']")
        assert page.evaluate(in_sight, ".sb-linked")


def test_what_broke_leads_to_its_story(browser, reports):
    """One click on the first failure opens what happened to that customer."""
    with opened(browser, reports["failures"]) as (page, _):
        link = page.locator(".sb-broken a").first
        name = link.inner_text()
        link.click()
        page.wait_for_selector(".sb-story")
        assert page.get_attribute(".sb-story", "aria-label") == name


@pytest.mark.parametrize("odd", ["#%", "#%E0%A4%A", "#nothing", "#sb-rows", "#__proto__"])
def test_an_odd_link_does_no_harm(browser, reports, odd):
    """A link that leads nowhere shows the table."""
    with opened(browser, reports["failures"], odd) as (page, seen):
        assert len(rows(page)) == 10
        assert page.locator(".sb-story").count() == 0
        assert seen.errors == []


def test_it_works_by_keyboard_alone(browser, reports):
    """Tab gets to a row with its focus in sight, Enter opens and closes it, and Tab goes on into the story."""
    with opened(browser, reports["failures"]) as (page, _):
        for _step in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.className") == "sb-toggle":
                break
        outline = "getComputedStyle(document.activeElement)"
        assert page.evaluate(f"{outline}.outlineStyle") == "solid"
        assert page.evaluate(f"parseFloat({outline}.outlineWidth)") >= 2
        page.keyboard.press("Enter")
        page.wait_for_selector(".sb-story")
        assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
        controlled = page.evaluate("document.activeElement.getAttribute('aria-controls')")
        assert page.locator(f"#{controlled} .sb-story").count() == 1
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.sb-story') !== null")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        assert page.locator(".sb-story").count() == 0
        assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"


def test_a_story_tells_what_happened(browser, reports):
    """What the case tests, the talk with its calls in order, expected beside actual, and a command to copy."""
    told = html_reports.read(reports["failures"])
    (row,) = (row for row in told.rows if row["name"] == "TB-001")
    story = told.stories[row["key"]]
    with opened(
        browser, reports["failures"], "#TB-001", permissions=["clipboard-read", "clipboard-write"]
    ) as (page, _):
        page.wait_for_selector(".sb-story")
        text = page.inner_text(".sb-story")
        stake = told.stakes[story["stake"]]
        order = [stake["description"], stake["message"][:40], story["calls"][0]["tool"]]
        order += [story["turns"][-1]["message"], "Expected beside actual", "Changes of the account"]
        order.append(story["command"])
        places = [text.find(part) for part in order]
        assert -1 not in places
        assert places == sorted(places)
        assert stake["customer"] in text
        assert page.locator(".sb-checks mark").count() > 0
        assert "Every check with its reason" in text
        page.click(".sb-again button")
        page.wait_for_selector("text=Copied")
        assert page.evaluate("navigator.clipboard.readText()") == story["command"]


def test_a_thousand_episodes_stay_quick(browser, thousand):
    """1,000 rows are shown and the rest by a button; no story is unpacked before it is opened, and then one block."""
    with opened(browser, thousand) as (page, _):
        page.wait_for_selector(".sb-row >> nth=999")
        assert page.locator(".sb-detail").count() == 0
        assert page.locator("script[type='text/plain']").count() == 14
        page.evaluate("""() => {
            window.unpacking = 0;
            const construct = (known, args) => { window.unpacking += 1; return new known(...args); };
            window.DecompressionStream = new Proxy(window.DecompressionStream, { construct });
        }""")
        page.click("text=Show 150 of 150 more")
        assert page.locator(".sb-row").count() == 1_150
        assert not page.is_visible("#sb-more")
        assert page.evaluate("window.unpacking") == 0
        page.locator(".sb-toggle").last.click()
        page.wait_for_selector(".sb-story")
        assert page.evaluate("window.unpacking") == 1
        spent = page.evaluate("""() => {
            const begin = performance.now();
            document.querySelector("#sb-head button").click();
            return performance.now() - begin;
        }""")
        assert spent < 2_000  # a sort draws 200 rows before it returns: tens of milliseconds on any machine
        page.fill("#sb-text", "tb-010")
        assert 0 < page.locator(".sb-row").count() < 200


def test_a_link_reaches_a_row_beyond_the_first_thousand(browser, thousand):
    """A deep link shows more rows until its own is there."""
    page_rows = html_reports.read(thousand).rows
    last = max(page_rows, key=lambda row: (row["outcome"] == "passed", int(row["name"].rpartition("-")[2])))[
        "name"
    ]
    with opened(browser, thousand, f"#{last}") as (page, _):
        page.wait_for_selector(".sb-story")
        assert page.get_attribute(".sb-story", "aria-label") == last
        assert page.locator(".sb-row").count() > 1_000


def test_on_paper_it_is_light_and_has_no_controls(browser, reports):
    """Printed from a dark screen the page is black on white, with what is open, and without filters and buttons."""
    with opened(browser, reports["failures"], "#TB-001", color_scheme="dark") as (page, _):
        page.wait_for_selector(".sb-story")
        ground = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(ground) != "rgb(255, 255, 255)"
        page.emulate_media(media="print")
        assert page.evaluate(ground) == "rgb(255, 255, 255)"
        assert not page.is_visible(".sb-filters")
        assert not page.is_visible("#sb-pytest")
        assert page.is_visible(".sb-banner")
        assert page.is_visible(".sb-story")


def test_without_javascript_the_summary_is_there(browser, reports):
    """Verdict, bars and tables need no program; the page says what does, and shows no dead controls."""
    with opened(browser, reports["failures"], java_script_enabled=False) as (page, seen):
        assert page.inner_text("h1 >> nth=1") == "FAILED"
        assert "3 of 10 scored episodes failed" in page.inner_text(".sb-banner")
        assert page.locator("svg.sb-bar").count() == 5
        assert page.is_visible(".sb-heat")
        assert "The table needs JavaScript" in page.inner_text("#supportbench")
        assert not page.is_visible(".sb-filters")
        assert seen.requests == [reports["failures"].as_uri()]


def test_with_its_assets_beside_it_the_style_is_applied(browser, reports, tmp_path):
    """The policy lets pytest-html's own style sheet in where it is a file beside the report."""
    (tmp_path / "assets").mkdir()
    text = reports["failures"].read_text(encoding="utf-8")
    begin, end = text.index('<style type="text/css">'), text.index("</style>")
    (tmp_path / "assets" / "style.css").write_text(text[begin + 23 : end], encoding="utf-8")
    link = '<link href="assets/style.css" rel="stylesheet" type="text/css"/>'
    (tmp_path / "report.html").write_text(text[:begin] + link + text[end + 8 :], encoding="utf-8")
    with opened(browser, tmp_path / "report.html") as (page, seen):
        page.evaluate("document.getElementById('sb-pytest').open = true")
        page.wait_for_selector("#results-table td")
        assert (
            page.evaluate("getComputedStyle(document.querySelector('#results-table td')).paddingTop") == "5px"
        )
        assert seen.refused == []
