"use strict";
(() => {
  // ---- light and dark ----

  // Keeps a text in this browser, or tells the one that was kept; null: none, or the browser does not allow it.
  function kept(storage, key, value) {
    try {
      if (value !== undefined) window[storage].setItem(key, value);
      return window[storage].getItem(key);
    } catch { return null; }
  }

  const chosen = document.documentElement.dataset, before = kept("localStorage", "roast-theme");
  if (before) chosen.theme = before;
  document.getElementById("theme").addEventListener("click", () => {
    const isDark = chosen.theme ? chosen.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    kept("localStorage", "roast-theme", chosen.theme = isDark ? "light" : "dark");
  });

  // ---- tables: a click on a heading sorts ----

  const compareNames = new Intl.Collator(undefined, {numeric: true}).compare;

  // Numbers by their value, names by their letters; what was not measured is last either way.
  function compare(a, b, isName, sign) {
    if (isName) return sign * compareNames(a.textContent, b.textContent);
    const x = parseFloat(a.dataset.v), y = parseFloat(b.dataset.v);
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return sign * (x - y);
  }

  function sortBy(heading, wanted) {
    const table = heading.closest("table");
    const place = heading.cellIndex;
    const isName = heading.classList.contains("name");
    const before = heading.getAttribute("aria-sort");
    // Largest first at the first click, names from A on.
    const descending = wanted ? wanted === "descending" : before === null ? !isName : before === "ascending";
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    rows.sort((a, b) => compare(a.cells[place], b.cells[place], isName, descending ? -1 : 1));
    body.append(...rows);
  }

  // Tables may come later than this script.
  document.addEventListener("click", (event) => {
    const heading = event.target.closest("table.sortable th");
    if (heading !== null && event.target.closest("button") !== null) sortBy(heading);
  });

  // Gives a part of the page new contents. The order of its tables, the focus and what was scrolled stay.
  function fill(part, html) {
    const tables = () => [...part.querySelectorAll("table.sortable")];
    const reached = () => [...part.querySelectorAll("a, button, summary, [tabindex]")];
    const sorted = new Map(tables().map((table) => [table.id, table.querySelector("th[aria-sort]")]));
    const scrolled = [...part.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
    const focused = reached().indexOf(document.activeElement);
    part.innerHTML = html; // made by the server, where every name is escaped
    for (const table of tables()) {
      const before = sorted.get(table.id), name = before?.textContent;
      const heading = [...table.querySelectorAll("th")].find((one) => one.textContent === name);
      if (heading) sortBy(heading, before.getAttribute("aria-sort"));
    }
    [...part.querySelectorAll(".scroll")].forEach((one, i) => { if (scrolled[i]) one.scrollTo(...scrolled[i]); });
    if (focused >= 0) reached()[focused]?.focus({preventScroll: true});
  }

  window.roastTables = {sortBy, fill, kept};
})();
