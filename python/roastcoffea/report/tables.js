"use strict";
(() => {
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

  window.roastTables = {sortBy};
})();
