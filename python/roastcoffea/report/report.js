"use strict";
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  // ---- colours: the charts follow the page ----

  // What each sort of model takes from the page's variables.
  const paints = {
    Grid: {grid_line_color: "--grid"},
    LabelSet: {text_color: "--ink"},
    axis: {major_label_text_color: "--soft", axis_label_text_color: "--soft"},
  };

  function paint() {
    if (typeof Bokeh === "undefined") return;
    const style = getComputedStyle(root);
    for (const doc of Bokeh.documents) {
      for (const model of doc.all_models) {
        const wanted = paints[model.type] || (model.type.endsWith("Axis") ? paints.axis : null);
        if (wanted === null) continue;
        const values = {};
        for (const key in wanted) values[key] = style.getPropertyValue(wanted[key]).trim();
        model.setv(values);
      }
    }
  }

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    paint();
  });
  system.addEventListener("change", paint);

  // ---- charts ----

  async function draw() {
    const holder = document.getElementById("charts");
    if (holder === null) return;
    const {document: doc, roots} = JSON.parse(holder.textContent);
    const item = {docid: "report", roots, root_ids: Object.keys(roots)};
    await Bokeh.embed.embed_items({report: doc}, [item]);
    paint();
  }

  const reset = document.getElementById("reset");
  if (reset !== null) {
    reset.addEventListener("click", () => {
      for (const doc of Bokeh.documents)
        for (const model of doc.all_models)
          if (model.type === "Range1d") model.reset();
    });
  }

  // ---- tables: a click on a heading sorts ----

  const compareNames = new Intl.Collator(undefined, {numeric: true}).compare;

  // Numbers by their value, names by their letters; what was not measured is last either way.
  function compare(a, b, isName, sign) {
    if (isName) return sign * compareNames(a.textContent, b.textContent);
    const x = parseFloat(a.dataset.v), y = parseFloat(b.dataset.v);
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return sign * (x - y);
  }

  function sortBy(heading) {
    const table = heading.closest("table");
    const place = heading.cellIndex;
    const isName = heading.classList.contains("name");
    const before = heading.getAttribute("aria-sort");
    // Largest first at the first click, names from A on.
    const descending = before === null ? !isName : before === "ascending";
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows];
    rows.sort((a, b) => compare(a.cells[place], b.cells[place], isName, descending ? -1 : 1));
    body.append(...rows);
  }

  for (const heading of document.querySelectorAll("table.sortable th"))
    heading.firstElementChild.addEventListener("click", () => sortBy(heading));

  window.roastReport = {ready: draw()};
})();
