"use strict";
// The program of SupportBench's part of the report. It builds everything with text nodes: nothing that a model or a
// scenario wrote is ever parsed as markup.
(() => {
  const FIRST = 100;
  const AT_ONCE = 1000; // rows; the first of them are drawn before the rest, in two steps: each lays out the whole table anew
  const FOLD = 1200;
  const BRIEF = 160;
  const LINE = 14; // characters of an agent's name that fit into its column
  const DIMENSIONS = ["resolution", "policy", "tool_use", "escalation"];
  const RANK = { failed: 0, "new failure": 0, "got worse": 0, "newly flaky": 0.5, error: 1, "failed as before": 2, quarantine: 3, fixed: 4, passed: 5 };
  const NEEDS = { must: "this case must be handed off", must_not: "this case must not be handed off", either: "either is right" };
  const ENDINGS = {
    acted: "the agent gave its outcome", asked: "the agent asked, and there was no more to tell it",
    turn_limit: "no outcome within the turns allowed", time_limit: "out of time", invalid_reply: "replies that were no valid turn",
    agent_failed: "the agent crashed or refused", error: "the infrastructure broke",
  };
  const ENDED = { // in a filter and in a cell
    acted: "with an outcome", asked: "with a question", turn_limit: "no outcome in its turns", time_limit: "out of time",
    invalid_reply: "invalid replies", agent_failed: "crashed or refused", error: "infrastructure error",
  };
  const OWN = ["acted", "asked", "error"]; // what needs no word beside the outcome
  const MARKS = {
    passed: "✓", fixed: "✓", failed: "✗", "new failure": "✗", "got worse": "✗", "newly flaky": "✗", "failed as before": "✗", quarantine: "⏸", error: "!",
  };

  const byId = (id) => document.getElementById(id);
  const words = (text) => String(text).replace(/[_-]/g, " ");
  const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
  const visible = (text) => text.replace(CONTROL, (mark) => (mark === "\u007f" ? "␡" : String.fromCharCode(0x2400 + mark.charCodeAt(0))));

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(byId(id).textContent.trim()), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text(), (_, item) => (typeof item === "string" ? visible(item) : item));
  }

  // ---- pytest-html's own part: kept whole, behind ours, and mended for screen readers

  function mendTemplate() { // before pytest-html's own program makes rows of it
    const template = byId("template_results-table__tbody");
    const log = template && template.content.querySelector(".logwrapper");
    if (!log) return;
    for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", "log"]]) log.setAttribute(name, value);
  }

  function runPytests(rest) { // once, when its list is wanted: it makes rows of every test, which takes long
    const program = byId("sb-pytest-program");
    if (!program) return;
    program.remove();
    document.body.append(el("script", {}, program.textContent));
    for (const list of rest.querySelectorAll("ul > ul:empty")) list.remove();
  }

  function foldPytest() {
    const body = document.body;
    const main = byId("supportbench");
    const rest = el("details", { id: "sb-pytest" }, el("summary", {}, "All tests, as pytest-html lists them; an expected failure is one that the baseline or the quarantine has too"));
    const footer = document.querySelector("footer");
    for (const node of [...body.children]) {
      if (node !== main && node !== footer && node.tagName !== "SCRIPT" && node.id !== "title") rest.append(node);
    }
    body.insertBefore(main, body.firstChild);
    body.insertBefore(el("section", { "aria-label": "All tests", class: "sb-scroll", tabindex: "0" }, rest), footer);
    rest.addEventListener("toggle", () => rest.open && runPytests(rest));
    const title = byId("title");
    if (title) title.remove();
    for (const box of rest.querySelectorAll("input.filter")) {
      box.setAttribute("aria-label", `show ${box.dataset.testResult}`);
    }
  }

  // ---- the table

  let rows = [];
  let columns = [];
  const state = { sort: "outcome", descending: false, shown: 0, list: [] };
  const open = new Map();

  function read(index) {
    const names = index.columns;
    rows = index.rows.map((values) => Object.fromEntries(names.map((name, at) => [name, values[at]])));
    rows.forEach((row, at) => { row.at = at; });
    const several = (name) => new Set(rows.map((row) => row[name])).size > 1;
    columns = [
      ["name", "Scenario"], ["outcome", "Outcome"], ["area", "Area"],
      ...(several("agent") ? [["agent", "Agent"]] : []),
      ...(several("trial") ? [["trial", "Trial"]] : []),
      ...DIMENSIONS.map((name) => [name, words(name)]),
      ["class", "Hand-off"], ["turns", "Turns"], ["seconds", "Seconds"], ["tokens", "Tokens"],
    ];
    for (const row of rows) {
      DIMENSIONS.forEach((name, at) => { row[name] = row.dimensions ? row.dimensions[at] : null; });
      row.search = `${row.name} ${row.title} ${row.headline} ${row.agent}`.toLowerCase();
    }
  }

  function choices(id, values, shown) {
    const select = byId(id);
    for (const value of values) select.append(el("option", { value }, shown ? shown(value) : words(value)));
    select.closest("label").hidden = values.length < 2 && !["sb-violation", "sb-dimension"].includes(id);
    if (!values.length) select.closest("label").hidden = true;
  }

  function fillFilters() {
    const all = (pick) => [...new Set(rows.flatMap(pick))].filter(Boolean).sort();
    choices("sb-area", all((row) => row.area));
    choices("sb-dimension", DIMENSIONS.filter((name) => rows.some((row) => row[name] === 0)));
    choices("sb-violation", all((row) => row.violations));
    choices("sb-agent", all((row) => row.agent), (value) => value);
    choices("sb-outcome", all((row) => row.outcome));
    choices("sb-ending", all((row) => row.ending), (value) => ENDED[value] || words(value));
  }

  const chosen = (id) => byId(id).value;

  function filtered() {
    const area = chosen("sb-area"), dimension = chosen("sb-dimension"), violation = chosen("sb-violation");
    const agent = chosen("sb-agent"), outcome = chosen("sb-outcome"), ending = chosen("sb-ending"), text = chosen("sb-text").trim().toLowerCase();
    return rows.filter((row) =>
      (!area || row.area === area) && (!dimension || row[dimension] === 0) &&
      (!violation || row.violations.includes(violation)) && (!agent || row.agent === agent) &&
      (!outcome || row.outcome === outcome) && (!ending || row.ending === ending) && (!text || row.search.includes(text)));
  }

  function value(row, name) {
    if (name === "outcome") return RANK[row.outcome] * 10 - Math.min(row.violations.length, 9);
    return row[name] ?? -1;
  }

  function sorted(list) {
    const collator = new Intl.Collator("en", { numeric: true });
    const sign = state.descending ? -1 : 1;
    return [...list].sort((a, b) => {
      const x = value(a, state.sort), y = value(b, state.sort);
      const order = typeof x === "number" && typeof y === "number" ? x - y : collator.compare(x, y);
      return sign * order || a.at - b.at;
    });
  }

  function head() {
    const line = el("tr", {});
    for (const [name, label] of columns) {
      const button = el("button", { type: "button" }, label);
      const sort = state.sort === name ? (state.descending ? "descending" : "ascending") : "none";
      button.addEventListener("click", () => {
        state.descending = state.sort === name && !state.descending;
        state.sort = name;
        draw();
        document.querySelector(`#sb-table thead th:nth-child(${columns.findIndex((c) => c[0] === name) + 1}) button`).focus();
      });
      line.append(el("th", { scope: "col", "aria-sort": sort }, button));
    }
    return line;
  }

  function mark(passed) {
    if (passed === null || passed === undefined) return ["–"];
    return [
      el("span", { class: passed ? "sb-good" : "sb-bad", "aria-hidden": "true" }, passed ? "✓" : "✗"),
      el("span", { class: "sb-hidden" }, passed ? "passed" : "failed"),
    ];
  }

  function pieces(name) { // lines may end between parts of a name, and in a long part between its words
    const parts = name.match(/[^-:/]*[-:/]|[^-:/]+/gu) || [];
    return parts.flatMap((part) => (part.length > LINE ? part.match(/[^_.]{0,13}[_.]|[^_.]{1,14}/gsu) : [part]))
      .flatMap((piece) => [el("wbr", {}), piece]);
  }

  function cell(row, name, label) {
    const node = el("td", { "data-label": label });
    if (name === "outcome") {
      const tone = ["passed", "fixed"].includes(row.outcome) ? "sb-good" : row.outcome === "error" ? "sb-unsure" : "sb-bad";
      node.append(el("span", { class: tone }, el("span", { "aria-hidden": "true" }, `${MARKS[row.outcome]} `), row.outcome));
      if (row.ending && !OWN.includes(row.ending)) node.append(el("span", { class: "sb-codes" }, ENDED[row.ending] || words(row.ending)));
      if (row.violations.length) node.append(el("span", { class: "sb-codes" }, row.violations.map(words).join(", ")));
    } else if (DIMENSIONS.includes(name)) node.append(...mark(row[name]));
    else if (name === "seconds") node.append(row.seconds === null ? "–" : row.seconds.toFixed(row.seconds < 10 ? 2 : 0));
    else if (name === "tokens") node.append(row.tokens === null ? "–" : row.tokens.toLocaleString("en"));
    else if (name === "class") node.append(words(row.class || "–"));
    else if (name === "agent") {
      node.className = "sb-named";
      node.append(el("bdi", {}, pieces(row.agent)));
    }
    else node.append(words(row[name] ?? "–"));
    return node;
  }

  function line(row) {
    const button = el("button", {
      type: "button", class: "sb-toggle", "aria-expanded": String(open.has(row.name_id)), "aria-controls": `sb-d${row.at}`,
    }, el("span", { class: "sb-id" }, row.name), " ", el("bdi", { class: "sb-title" }, row.title));
    const why = row.headline.replace(/^failed [a-z, ]+: /, ""); // the columns have the dimensions
    const told = row.outcome === "passed" || row.outcome === "fixed" ? null
      : el("bdi", { class: "sb-codes" }, why.length > BRIEF ? `${why.slice(0, BRIEF)}…` : why);
    const node = el("tr", { id: `sb-r${row.at}`, class: "sb-row" }, el("th", { scope: "row" }, button, told));
    for (const [name, label] of columns.slice(1)) node.append(cell(row, name, label));
    button.addEventListener("click", () => toggle(row, node, button));
    if (open.has(row.name_id)) queueMicrotask(() => node.after(open.get(row.name_id)));
    return node;
  }

  async function toggle(row, node, button) {
    if (open.has(row.name_id)) {
      open.get(row.name_id).remove();
      open.delete(row.name_id);
      button.setAttribute("aria-expanded", "false");
      return;
    }
    const place = el("td", { colspan: columns.length }, "…");
    const detail = el("tr", { class: "sb-detail", id: `sb-d${row.at}` }, place);
    open.set(row.name_id, detail);
    node.after(detail);
    button.setAttribute("aria-expanded", "true");
    history.replaceState(null, "", `#${encodeURIComponent(row.name_id)}`);
    try {
      const told = await block(row.block);
      place.replaceChildren(story(row, told.episodes[row.key], told.stakes));
    } catch (problem) {
      place.replaceChildren(el("p", {}, row.block === null
        ? "The results file of this run has no such episode, so there is no more to show."
        : `This browser could not unpack the episode (${problem}). Chrome 80, Firefox 113 and Safari 16.4 can.`));
    }
  }

  const cache = new Map();
  function block(number) {
    if (number === null) return Promise.reject(new Error("nothing stored"));
    if (!cache.has(number)) {
      cache.set(number, unpacked(`sb-block-${number}`));
      if (cache.size > 4) cache.delete(cache.keys().next().value);
    }
    return cache.get(number);
  }

  function more() {
    const list = state.list;
    const body = byId("sb-rows");
    const next = list.slice(state.shown, state.shown ? Math.max(AT_ONCE, state.shown + AT_ONCE / 2) : FIRST);
    body.append(...next.map(line));
    state.shown += next.length;
    const left = list.length - state.shown;
    byId("sb-more").hidden = !left || state.shown < AT_ONCE;
    byId("sb-more").textContent = `Show ${Math.min(left, AT_ONCE / 2)} of ${left} more`;
    if (left && state.shown < AT_ONCE) requestAnimationFrame(() => list === state.list && state.shown === FIRST && more());
  }

  function draw() {
    state.list = sorted(filtered());
    state.shown = 0;
    byId("sb-head").replaceChildren(head());
    byId("sb-rows").replaceChildren();
    byId("sb-count").textContent = `${state.list.length} of ${rows.length} shown`;
    if (!state.list.length) {
      byId("sb-rows").append(el("tr", {}, el("td", { colspan: columns.length }, rows.length
        ? "Nothing fits these filters." : "No scenario was run.")));
      byId("sb-more").hidden = true;
      return;
    }
    more();
  }

  function linked() {
    let wanted = "";
    try { wanted = decodeURIComponent(location.hash.slice(1)); } catch { return null; }
    const ofSuite = (row) => `${row.suite.slice(0, row.suite.lastIndexOf(" "))}/${row.scenario}`;
    const named = rows.filter((row) => row.scenario === wanted || ofSuite(row) === wanted);
    named.sort((a, b) => RANK[a.outcome] - RANK[b.outcome]); // of several, the one that failed
    return rows.find((row) => row.name_id === wanted) || named[0] || null;
  }

  function follow() {
    const row = linked();
    if (!row) return;
    if (!state.list.includes(row)) { byId("sb-filters").reset(); draw(); }
    while (state.list.indexOf(row) >= state.shown) more();
    for (const other of document.querySelectorAll(".sb-linked")) other.classList.remove("sb-linked");
    const node = byId(`sb-r${row.at}`);
    node.classList.add("sb-linked");
    const button = node.querySelector("button");
    if (!open.has(row.name_id)) toggle(row, node, button);
    node.scrollIntoView({ block: "start" });
    button.focus({ preventScroll: true });
  }

  // ---- one episode

  function prose(text, className) {
    const node = el("div", { class: className || "sb-prose", dir: "auto" });
    if (text.length <= FOLD) { node.append(text); return node; }
    const rest = el("details", {}, el("summary", {}, `${(text.length - FOLD).toLocaleString("en")} more characters`));
    rest.addEventListener("toggle", () => {
      if (rest.open && rest.children.length === 1) rest.append(el("div", { dir: "auto" }, text.slice(FOLD)));
    });
    node.append(text.slice(0, FOLD), "…", rest);
    return node;
  }

  function code(text) {
    const node = prose(text, "sb-code");
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "group");
    node.setAttribute("aria-label", "data");
    return node;
  }

  function apart(one, other) {
    const a = one.split(/([\s(),=']+)/), b = other.split(/([\s(),=']+)/);
    let start = 0, end = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
    while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
    const marked = (parts) => [
      parts.slice(0, start).join(""),
      el("mark", {}, parts.slice(start, parts.length - end).join("") || "∅"),
      parts.slice(parts.length - end).join(""),
    ];
    if (one === other || (!start && !end)) return [[one], [other]]; // nothing in common: there is nothing to point at
    return [marked(a), marked(b)];
  }

  function section(title, ...children) {
    return el("section", {}, el("h3", {}, title), ...children);
  }

  function stake(told, stakes) {
    const at = stakes[told.stake];
    if (!at) return null;
    return section("What this case tests",
      el("p", {}, el("strong", {}, words(at.failure_mode)), " – ", el("bdi", {}, at.description)),
      ...at.policies.map(([name, text]) => el("details", {}, el("summary", {}, `Policy: ${name}`), prose(text))));
  }

  function bubble(who, text, kind) {
    const name = [who].flat().map((part) => el("bdi", {}, part));
    return el("li", { class: `sb-turn sb-${kind}` }, el("span", { class: "sb-who" }, name), prose(text));
  }

  function callItem(call) {
    const bad = call.error || call.fault;
    const notes = [
      call.effect === "writes" ? (call.committed ? "write, committed" : "write, not committed") : "read",
      call.handoff ? "hand-off" : "", call.fault ? `injected fault: ${words(call.fault)}` : "",
    ].filter(Boolean).join(" · ");
    const node = el("li", { class: `sb-call${bad ? " sb-call-bad" : ""}` },
      el("span", { class: "sb-who" }, el("code", {}, el("bdi", {}, call.tool)), ` – ${words(call.status)} – ${notes}`), code(call.arguments));
    if (call.error) node.append(el("span", { class: "sb-who" }, "error"), code(call.error));
    if (call.result !== null) node.append(el("details", {}, el("summary", {}, "result"), code(call.result)));
    return node;
  }

  function conversation(told, stakes) {
    const list = el("ol", { class: "sb-talk" });
    const at = stakes[told.stake];
    if (at) {
      for (const [role, text] of at.history) list.append(bubble(`${role}, earlier`, text, role === "agent" ? "agent" : "customer"));
      list.append(bubble(["customer ", at.customer], at.message, "customer"));
    }
    told.turns.forEach((turn, index) => {
      if (turn.invalid) {
        list.append(bubble(`turn ${index + 1}: the agent's reply was no valid turn`, `${turn.invalid[0]}\n${turn.invalid[1]}`, "invalid"));
      } else if (turn.message || turn.action) {
        const asks = turn.asks_for.length ? `, asks for ${turn.asks_for.map(words).join(", ")}` : "";
        const sent = turn.message ? (turn.delivered ? "sent to the customer" : "draft, not sent") : "no message";
        const outcome = turn.action ? words(turn.action) : "no outcome yet";
        list.append(bubble([`agent, turn ${index + 1}: `, outcome, asks, ` (${sent})`], turn.message, turn.delivered ? "agent" : "draft"));
      }
      for (const call of told.calls.filter((item) => item.turn === index + 1)) list.append(callItem(call));
      if (turn.reply !== null) list.append(bubble(told.simulated ? "customer (simulated)" : "customer", turn.reply, "customer"));
    });
    const ended = [ENDINGS[told.ending] || words(told.ending)];
    if (told.error) ended.push(`${told.error.cause}: ${told.error.message}; ${told.error.remedy}`);
    if (told.failure) ended.push(told.failure);
    list.append(bubble("end", ended.join("\n"), told.error || told.failure ? "invalid" : "end"));
    return section("Conversation and tool calls, in order of time", list);
  }

  function wrong(told) {
    const failed = Object.entries(told.dimensions).filter(([name]) => name !== "explanation")
      .flatMap(([name, item]) => item.checks.filter((check) => check[0] === false).map((check) => [name, check]));
    if (!failed.length) return null;
    const body = el("tbody", {});
    for (const [name, [, id, expected, actual, reason, violation, basis]] of failed) {
      const what = () => (id.startsWith("state:") ? [el("code", {}, id.slice(6)), " "] : []); // a bare value says little
      const [left, right] = apart(expected, actual);
      body.append(el("tr", {},
        el("th", { scope: "row" }, words(name), el("span", { class: "sb-codes" }, violation ? `${words(violation)}, by ${basis}` : id)),
        el("td", { "data-label": "Expected", dir: "auto" }, ...what(), ...left),
        el("td", { "data-label": "Actual", dir: "auto" }, ...what(), ...right),
        el("td", { "data-label": "Because", dir: "auto" }, reason)));
    }
    return section("Expected beside actual", el("div", { class: "sb-scroll", tabindex: "0", role: "group", "aria-label": "failed checks" },
      el("table", { class: "sb-checks" }, el("thead", {}, el("tr", {},
        ...["Check", "Expected", "Actual", "Because"].map((label) => el("th", { scope: "col" }, label)))), body)));
  }

  function changes(told) {
    if (!told.changes.length) return section("Changes of the account", el("p", {}, "none"));
    return section("Changes of the account", el("ul", { class: "sb-changes" }, told.changes.map(([path, before, after]) =>
      el("li", {}, el("code", {}, path), ": ", before, " → ", el("strong", {}, after)))));
  }

  function everyCheck(told) {
    const parts = Object.entries(told.dimensions).map(([name, item]) => {
      const list = el("ul", {});
      for (const [passed, id, expected, actual, reason] of item.checks) {
        list.append(el("li", {}, ...mark(passed === null ? null : passed ? 1 : 0), ` ${id}: `, el("bdi", {}, actual),
          el("span", { class: "sb-why" }, " (expected ", el("bdi", {}, expected), "; ", el("bdi", {}, reason), ")")));
      }
      const note = name === "explanation" ? " (apart, in no strict pass)" : "";
      return el("div", {}, el("h4", {}, words(name) + note), list);
    });
    const rest = el("details", {}, el("summary", {}, "Every check with its reason"));
    rest.addEventListener("toggle", () => { if (rest.open && rest.children.length === 1) rest.append(...parts); });
    return parts.length ? el("section", {}, rest) : null;
  }

  function again(told) {
    const copy = el("button", { type: "button" }, "Copy");
    const text = el("code", { tabindex: "0" }, told.command);
    copy.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(told.command); copy.textContent = "Copied"; } catch {
        getSelection().selectAllChildren(text);
        copy.textContent = "Selected; press Ctrl+C";
      }
    });
    return section("Run just this again", el("div", { class: "sb-again" }, text, copy));
  }

  function story(row, told, stakes) {
    if (!told) return el("p", {}, "The results file has no such episode.");
    const facts = [
      `hand-off: ${NEEDS[told.expected_escalation] || "–"}; ${words(row.class || "not scored")}`,
      told.attempt > 1 ? `attempt ${told.attempt}` : "", told.replayed !== "no" ? "replayed: no agent was asked" : "",
      ...told.faults.map((fault) => `fault ${words(fault.kind)} of ${fault.tool}: ${fault.reached ? "reached" : "not reached"}`),
      ...Object.entries(told.usage).filter(([, count]) => count).map(([name, count]) => `${words(name)}: ${count}`),
    ].filter(Boolean);
    return el("article", { class: "sb-story", "aria-label": row.name },
      el("p", { class: "sb-headline" }, el("bdi", {}, row.headline), " ",
        el("a", { href: `#${encodeURIComponent(row.name_id)}` }, "link to this")),
      el("dl", { class: "sb-paths" }, el("dt", {}, "permitted"), el("dd", { dir: "auto" }, told.permitted),
        el("dt", {}, "observed"), el("dd", { dir: "auto" }, told.observed)),
      stake(told, stakes), conversation(told, stakes), wrong(told), changes(told),
      section("Facts of this episode", el("ul", { class: "sb-facts" }, facts.map((text) => el("li", {}, text)))),
      everyCheck(told),
      told.output ? el("section", {}, el("details", {}, el("summary", {}, "Output of the agent"), code(told.output))) : null,
      again(told));
  }

  async function start() {
    foldPytest();
    if (!byId("sb-index")) return;
    try { read(await unpacked("sb-index")); } catch (problem) {
      byId("sb-count").textContent = `This browser cannot unpack the table (${problem}). Chrome 80, Firefox 113 and Safari 16.4 can.`;
      return;
    }
    const seen = new Set();
    for (const row of rows) {
      row.name_id = seen.has(row.name) ? row.nodeid : row.name;
      seen.add(row.name);
    }
    fillFilters();
    const filters = byId("sb-filters");
    filters.hidden = false;
    filters.addEventListener("input", draw);
    filters.addEventListener("submit", (event) => event.preventDefault());
    byId("sb-all").addEventListener("click", () => { filters.reset(); draw(); });
    byId("sb-more").addEventListener("click", more);
    window.addEventListener("hashchange", follow);
    window.addEventListener("beforeprint", () => { byId("sb-pytest").open = false; });
    draw();
    follow();
    document.title = `${document.querySelector("#supportbench h1").textContent} – ${document.title}`;
    document.documentElement.dataset.sbReady = "yes";
  }

  mendTemplate();
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
