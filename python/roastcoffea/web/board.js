"use strict";
(() => {
  const {page, base, run} = document.body.dataset;
  const by = (id) => document.getElementById(id);
  const EVERY = 2000; // ms between two looks at what is new
  const address = (kind, name, query) =>
    base + kind + (name ? "/" + name.split("/").map(encodeURIComponent).join("/") : "") + (query ? "?" + query : "");

  // ---- asking the server ----

  async function get(kind, name, query, signal) {
    const answer = await fetch(address("api/" + kind, name, query), {headers: {Accept: "application/json"}, signal});
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.error || answer.statusText);
    return told;
  }

  // Looks again and again, but not while nobody sees the page.
  function repeat(look) {
    let busy = false;
    const once = async () => {
      if (busy || document.hidden) return;
      busy = true;
      try { await look(); } finally { busy = false; }
    };
    document.addEventListener("visibilitychange", once);
    setInterval(once, EVERY);
    once();
  }

  function element(kind, text, className) {
    const made = document.createElement(kind);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // ---- all runs ----

  const digits = (count) => count.toLocaleString("en");
  const COLUMNS = [
    ["Name", "name", "text"], ["Start (UTC)", "when", "when"], ["Outcome", "outcome", "outcome"],
    ["Wall", "wall_time", "figure"], ["Events", "total_events", "figure"], ["Event rate", "event_rate_wall_khz", "figure"],
    ["Data rate", "data_rate_gbps", "figure"], ["Workers", "avg_workers", "figure"], ["Efficiency", "core_efficiency", "figure"],
    ["Processor", "processor", "text"], ["Trend", "trend", "trend"],
  ];
  const SORTED = COLUMNS.filter(([, , kind]) => kind !== "trend");
  // The names of "roast ls --filter".
  const NAMES = {wall: "wall_time", events: "total_events", khz: "event_rate_wall_khz", gbps: "data_rate_gbps",
                 useful: "useful_rate_gbps", workers: "avg_workers", efficiency: "core_efficiency", chunksize: "chunksize",
                 when: "when", outcome: "outcome", executor: "executor", processor: "processor", config: "config",
                 name: "name", state: "state"};
  const TEXTS = ["when", "outcome", "executor", "processor", "config", "name", "state"];
  const HEIGHT = 34, AROUND = 12, TREND = 24;

  function runsPage() {
    const all = new Map(), {kept} = window.roastTables, TICKED = "roast-ticked " + base;
    const ticked = new Set(JSON.parse(kept("sessionStorage", TICKED) || "[]"));
    let version = 0, shown = [], series = new Map(), notice = "", drawsSoon = false;
    let drawn = new Map(); // the rows that are in the page, by run
    const wanted = {q: "", outcome: "", sort: "when", up: false};

    function readAddress() {
      const given = new URLSearchParams(location.search);
      wanted.q = given.get("q") || "";
      wanted.outcome = given.get("outcome") || "";
      wanted.sort = SORTED.some(([, key]) => key === given.get("sort")) ? given.get("sort") : "when";
      wanted.up = given.get("up") === "1";
      by("search").value = wanted.q;
      by("outcome").value = wanted.outcome;
    }
    function writeAddress(replace) {
      const query = new URLSearchParams();
      for (const key of ["q", "outcome"]) if (wanted[key]) query.set(key, wanted[key]);
      if (wanted.sort !== "when") query.set("sort", wanted.sort);
      if (wanted.up) query.set("up", "1");
      const to = base + (query.size ? "?" + query : "");
      history[replace ? "replaceState" : "pushState"](null, "", to);
    }

    const outcomeOf = (one) => (one.error ? "unreadable"
      : one.state === "live" || one.state === "unfinished" ? one.state : one.outcome || "");
    // As a shell's: * any characters, ? one, [abc] one of these.
    function pattern(glob) {
      const parts = glob.match(/\[[!^]?\]?[^\]]*\]|[^]/gu) || [];
      return new RegExp("^" + parts.map((part) => (part === "*" ? "[^]*" : part === "?" ? "[^]"
        : part.length > 2 && part[0] === "["
          ? "[" + part.slice(1, -1).replace(/^[!^]/, "^").replace(/[\\\]\[]/g, "\\$&") + "]"
          : part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"))).join("") + "$", "u");
    }
    // The test of a word of the search; throws with words if there is none.
    function testOf(word) {
      const found = /^([^<>=!]*)(<=|>=|!=|=|<|>)(.*)$/.exec(word);
      if (found === null) {
        if (/[*?[]/.test(word)) {
          let whole;
          try { whole = pattern(word); } catch { throw new Error("it is no pattern"); }
          return (one) => whole.test(one.name);
        }
        const part = word.toLowerCase();
        return (one) => [one.name, one.processor, one.executor, one.config, outcomeOf(one)]
          .some((text) => text && text.toLowerCase().includes(part));
      }
      const [, name, sign, text] = found, key = Object.hasOwn(NAMES, name) ? NAMES[name] : null;
      if (key === null) throw new Error(`there is no column ${name}; there are ${Object.keys(NAMES).join(", ")}`);
      const isText = TEXTS.includes(key), other = !isText ? Number(text) : key === "when" ? text.replace("T", " ") : text;
      if (text === "" || (!isText && Number.isNaN(other))) throw new Error(text ? `${text} is no number` : "a value is missing");
      return (one) => {
        let value = key === "outcome" ? outcomeOf(one) : one[key];
        if (value === null || value === undefined || value === "") return false;
        if (key === "when") value = value.replace("T", " ").slice(0, other.length);
        return {"<": value < other, ">": value > other, "<=": value <= other, ">=": value >= other,
                "=": value === other, "!=": value !== other}[sign];
      };
    }
    function testsOf(words) {
      const tests = [], wrong = [];
      for (const word of words) {
        try { tests.push(testOf(word)); } catch (error) { wrong.push(`“${word}” is not understood: ${error.message}.`); }
      }
      by("notice").textContent = [notice, ...wrong].join(" ").trim();
      by("notice").hidden = by("notice").textContent === "";
      return tests;
    }

    function choose() {
      const tests = testsOf(wanted.q.split(/\s+/).filter(Boolean));
      if (wanted.outcome) tests.push((one) => outcomeOf(one) === wanted.outcome);
      shown = [...all.values()].filter((one) => tests.every((test) => test(one)));
      const key = wanted.sort, sign = wanted.up ? 1 : -1;
      const valueOf = key === "outcome" ? outcomeOf : (one) => one[key];
      shown.sort((a, b) => {
        const x = valueOf(a), y = valueOf(b), none = (v) => v === null || v === undefined || v === "";
        if (none(x) || none(y)) return none(x) - none(y);
        return x === y ? (a.name < b.name ? -1 : 1) : (x < y ? -sign : sign);
      });
      by("rows").style.height = shown.length * HEIGHT + "px";
      by("count").textContent = shown.length === all.size ? `${digits(all.size)} measurements`
        : `${digits(shown.length)} of ${digits(all.size)} measurements`;
      for (const head of by("heads").children)
        if (head.dataset.key) head.ariaSort = head.dataset.key === wanted.sort ? (wanted.up ? "ascending" : "descending") : "none";
      by("sort").value = `${key} ${wanted.up ? "up" : "down"}`;
      draw();
    }
    function sortBy(key, up) {
      wanted.sort = key;
      wanted.up = up;
      writeAddress();
      choose();
    }

    // The last runs of the same processor: where this one stands.
    function findSeries() {
      series = new Map();
      drawn = new Map(); // a trend may have changed
      const sorted = [...all.values()].filter((one) => one.processor && one.event_rate_wall_khz > 0 && one.when)
        .sort((a, b) => (a.when < b.when ? -1 : 1));
      for (const one of sorted) {
        const list = series.get(one.processor) || [];
        list.push(one);
        series.set(one.processor, list);
        one.place = list.length - 1;
      }
    }
    function trendOf(one) {
      const list = series.get(one.processor);
      if (list === undefined || one.place === undefined || list.length < 3) return "";
      const last = Math.min(list.length, Math.max(TREND, one.place + 1)), part = list.slice(Math.max(0, last - TREND), last);
      const most = Math.max(...part.map((run) => run.event_rate_wall_khz));
      const at = part.map((run, i) => [2 + 86 * i / (part.length - 1), 20 - 18 * run.event_rate_wall_khz / most]);
      const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg");
      svg.setAttribute("viewBox", "0 0 90 22");
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", `event rate of the last ${part.length} runs of ${one.processor}`);
      const line = document.createElementNS(space, "polyline"), dot = document.createElementNS(space, "circle");
      line.setAttribute("points", at.map((xy) => xy.map((v) => v.toFixed(1)).join()).join(" "));
      const own = at[part.indexOf(one)];
      dot.setAttribute("cx", own[0]);
      dot.setAttribute("cy", own[1]);
      dot.setAttribute("r", 2.2);
      svg.append(line, dot);
      return svg;
    }

    function rowOf(one) {
      const row = element("div", undefined, "row");
      row.role = "row";
      row.dataset.name = one.name;
      const tick = element("input");
      tick.type = "checkbox";
      tick.ariaLabel = "tick " + one.name;
      tick.checked = ticked.has(one.name);
      tick.addEventListener("change", () => {
        ticked[tick.checked ? "add" : "delete"](one.name);
        countTicked();
      });
      for (const [, key, kind] of COLUMNS) {
        const value = one[key];
        if (key === "name") {
          const link = element("a", value);
          link.href = address("run", value);
          link.title = one.error ? `${value}: ${one.error}` : value;
          row.append(cell(link), cell(tick)); // Tab goes from one to the other; the tick is shown first
        } else if (kind === "outcome") {
          row.append(cell(outcomeOf(one), one.error ? "failed" : outcomeOf(one)));
        } else if (kind === "when") {
          row.append(cell(value ? value.slice(0, 16).replace("T", " ") : ""));
        } else if (kind === "trend") {
          row.append(cell(trendOf(one)));
        } else if (kind === "text") {
          row.append(cell(value || ""));
        } else {
          const figure = cell(one[key + "_text"], "n");
          if (key === "total_events" && value >= 1e5) figure.title = digits(value);
          row.append(figure);
        }
      }
      return row;
    }
    function cell(content, className) {
      const made = element("div", undefined, className);
      made.role = "cell";
      made.append(content);
      return made;
    }

    // Only the rows that are seen are there; those that stay are not made again.
    function draw() {
      const view = by("window"), first = Math.max(0, Math.floor(view.scrollTop / HEIGHT) - AROUND);
      const last = Math.min(shown.length, Math.ceil((view.scrollTop + view.clientHeight) / HEIGHT) + AROUND);
      by("heads").style.paddingRight = view.offsetWidth - view.clientWidth + "px";
      const focused = document.activeElement, name = focused?.closest?.(".row")?.dataset.name;
      drawn = new Map(shown.slice(first, last).map((one) => [one, drawn.get(one) || rowOf(one)]));
      const rows = [...drawn.values()], stay = new Set(rows), holder = by("rows");
      for (const row of [...holder.children]) if (!stay.has(row)) row.remove();
      rows.forEach((row, i) => {
        if (row !== holder.children[i]) holder.insertBefore(row, holder.children[i] || null);
        row.ariaRowIndex = first + i + 2;
        row.style.top = (first + i) * HEIGHT + "px";
      });
      by("list").ariaRowCount = shown.length + 1;
      if (name === undefined) return;
      // The run may have moved, or have gone: then the list is where one was.
      const again = rows.find((row) => row.dataset.name === name)?.querySelector(focused.localName);
      (again || view).focus({preventScroll: true});
    }

    // Once in a frame, however many events tell of it.
    function drawSoon() {
      if (drawsSoon) return;
      drawsSoon = true;
      requestAnimationFrame(() => { drawsSoon = false; draw(); });
    }

    // From row to row by the keyboard, also to rows that are not there yet.
    function go(event) {
      const row = event.target.closest?.(".row"), page = Math.floor(by("window").clientHeight / HEIGHT) - 1;
      const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
      if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey || shown.length === 0) return;
      event.preventDefault();
      const from = row ? Number(row.ariaRowIndex) - 2 : -1, kind = row ? event.target.localName : "a";
      const to = Math.max(0, Math.min(shown.length - 1, from + steps[event.key])), view = by("window");
      if (to * HEIGHT < view.scrollTop) view.scrollTop = to * HEIGHT;
      if ((to + 1) * HEIGHT > view.scrollTop + view.clientHeight) view.scrollTop = (to + 1) * HEIGHT - view.clientHeight;
      draw();
      by("rows").querySelector(`[aria-rowindex="${to + 2}"] ${kind}`)?.focus({preventScroll: true});
    }

    function countTicked() {
      for (const id of ["compare", "scaling"]) by(id).disabled = ticked.size < 2;
      by("compare").textContent = ticked.size ? `Compare ${ticked.size}` : "Compare";
      by("untick").hidden = ticked.size === 0;
      kept("sessionStorage", TICKED, JSON.stringify([...ticked]));
    }
    by("untick").addEventListener("click", () => {
      ticked.clear();
      for (const tick of by("rows").querySelectorAll("input")) tick.checked = false;
      countTicked();
      by("window").focus();
    });
    for (const id of ["compare", "scaling"])
      by(id).addEventListener("click", () => {
        // The oldest is what the others are compared with.
        const names = [...ticked].sort((a, b) => ((all.get(a)?.when || "") < (all.get(b)?.when || "") ? -1 : 1));
        location.href = address(id, "", new URLSearchParams(names.map((name) => ["run", name])));
      });

    const ticks = cell(element("span", "Ticked", "unseen"));
    ticks.role = "columnheader";
    by("heads").append(...COLUMNS.map(([title, key, kind]) => {
      const head = element("div", kind === "trend" ? title : undefined, kind === "figure" ? "n" : "");
      head.role = "columnheader";
      if (kind === "trend") return head;
      const button = element("button", title);
      head.dataset.key = key;
      button.type = "button";
      button.addEventListener("click", () => sortBy(key, wanted.sort === key ? !wanted.up : kind === "text"));
      head.append(button);
      return head;
    }));
    by("heads").firstChild.after(ticks);
    // Where columns are hidden their heads are, too.
    by("sort").append(...SORTED.flatMap(([title, key]) => [["down", "▼"], ["up", "▲"]].map(([way, sign]) => {
      const option = element("option", `${title} ${sign}`);
      option.value = `${key} ${way}`;
      return option;
    })));
    by("sort").addEventListener("change", () => {
      const [key, way] = by("sort").value.split(" ");
      sortBy(key, way === "up");
    });
    by("window").addEventListener("keydown", go);
    by("window").addEventListener("scroll", drawSoon);
    addEventListener("resize", drawSoon);
    by("choose").addEventListener("submit", (event) => { event.preventDefault(); writeAddress(); });
    by("search").addEventListener("input", () => { wanted.q = by("search").value; writeAddress(true); choose(); });
    by("outcome").addEventListener("change", () => { wanted.outcome = by("outcome").value; writeAddress(); choose(); });
    addEventListener("popstate", () => { readAddress(); choose(); });
    readAddress();

    repeat(async () => {
      let told;
      try { told = await get("runs", "", "since=" + version); }
      catch (error) { by("count").textContent = `the board does not answer: ${error.message}`; return; }
      if (told.all) all.clear();
      for (const name of told.gone) all.delete(name);
      for (const row of told.rows) {
        const one = Object.fromEntries(told.keys.map((key, i) => [key, row[i]]));
        all.set(one.name, one);
      }
      for (const name of ticked) if (!all.has(name)) ticked.delete(name);
      countTicked();
      const first = version === 0, isNews = (told.notice || "") !== notice;
      version = told.version;
      notice = told.notice || "";
      if (told.rows.length || told.gone.length || first || isNews) { findSeries(); choose(); }
    });
  }

  // ---- a run that goes on ----

  function livePage() {
    let version = 0;
    const known = new Set(); // findings and failures that were told, without their numbers and units, which change
    function tell(first) {
      const news = [...document.querySelectorAll("#part-findings li h3, #part-failures li > bdi")]
        .map((one) => one.textContent).filter((one) => {
          const kind = one.replace(/\d[\d.,]*( \S+)?/g, "");
          return !known.has(kind) && known.add(kind);
        });
      if (news.length && !first) by("news").textContent = "New: " + news.join("; ");
    }
    repeat(async () => {
      let told;
      try { told = await get("run", run, "since=" + version); }
      catch (error) { by("state").textContent = error.message; return; }
      if (told.state !== "live") { location.reload(); return; }
      by("state").textContent = "The run goes on.";
      const first = version === 0;
      version = told.version;
      for (const key in told.parts) {
        let part = by("part-" + key);
        const isNew = part === null;
        if (isNew) { part = element("div"); part.id = "part-" + key; }
        window.roastTables.fill(part, told.parts[key]);
        if (!isNew) continue;
        const next = told.order.slice(told.order.indexOf(key) + 1).map((one) => by("part-" + one)).find(Boolean);
        by("parts").insertBefore(part, next || null);
      }
      for (const part of [...by("parts").children])
        if (!told.order.includes(part.id.slice(5))) part.remove();
      tell(first);
    });
  }

  // ---- SQL ----

  function askPage() {
    const box = by("sql"), told = by("told");
    let asked = new AbortController();
    // The answer to the query before is given up. null: nothing is asked.
    async function ask(query) {
      asked.abort();
      asked = new AbortController();
      const {signal} = asked;
      told.className = "";
      told.textContent = query === null ? "" : "asking …";
      by("answer").replaceChildren();
      by("csv").hidden = true;
      if (query === null) return;
      try {
        const {columns, rows, more} = await get("sql", run, new URLSearchParams({q: query}), signal);
        signal.throwIfAborted();
        const numeric = columns.map((_, i) => rows.length > 0 && rows.every((row) => row[i] === null || typeof row[i] === "number"));
        const line = (kind, values) => {
          const row = element("tr");
          values.forEach((value, i) => row.append(element(kind, value === null ? "" : String(value), numeric[i] ? "n" : "")));
          return row;
        };
        const head = element("thead"), body = element("tbody");
        head.append(line("th", columns));
        for (const row of rows) body.append(line("td", row));
        by("answer").replaceChildren(head, body);
        const count = `${digits(rows.length)} row${rows.length === 1 ? "" : "s"}`;
        told.textContent = more ? `The first ${count}; there are more. The CSV has the same rows.` : count;
        by("csv").href = address("api/sql", run, new URLSearchParams({q: query, form: "csv"}));
        by("csv").hidden = false;
      } catch (error) {
        if (signal.aborted) return;
        told.className = "wrong";
        told.textContent = error.message;
      }
    }
    by("query").addEventListener("submit", (event) => {
      event.preventDefault();
      history.pushState(null, "", "?" + new URLSearchParams({q: box.value}));
      ask(box.value);
    });
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) by("query").requestSubmit();
    });
    function fromAddress() {
      const given = new URLSearchParams(location.search).get("q");
      box.value = given ?? "select dataset, count(*) as chunks, sum(num_events) as events from chunks group by dataset";
      ask(given);
    }
    addEventListener("popstate", fromAddress);
    fromAddress();
    by("columns").open = matchMedia("(min-width: 901px)").matches; // there it stands beside the query
    get("tables", run).then((found) => {
      const list = element("dl");
      for (const name in found) list.append(element("dt", name), element("dd", found[name].join(", ")));
      by("tables").append(list);
    }, (error) => { by("tables").textContent = error.message; });
  }

  ({runs: runsPage, live: livePage, ask: askPage}[page] || (() => {}))();
})();
