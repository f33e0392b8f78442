"use strict";
(() => {
  const EVERY = 2000; // ms between two looks
  const told = document.getElementById("told"), known = new Map();
  let busy = false;

  // New contents; the order of its tables, the focus and what was scrolled stay.
  function fill(part, html) {
    const sorted = new Map([...part.querySelectorAll("table.sortable")].map((one) => [one.id, one.querySelector("th[aria-sort]")]));
    const reached = () => [...part.querySelectorAll("a, button, [tabindex]")], focused = reached().indexOf(document.activeElement);
    const scrolled = [...part.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
    part.innerHTML = html; // made by the server, where every name is escaped
    for (const table of part.querySelectorAll("table.sortable")) {
      const before = sorted.get(table.id);
      const heading = [...table.querySelectorAll("th")].find((one) => one.textContent === before?.textContent);
      if (heading) window.roastTables.sortBy(heading, before.getAttribute("aria-sort"));
    }
    [...part.querySelectorAll(".scroll")].forEach((one, i) => { if (scrolled[i]) one.scrollTo(...scrolled[i]); });
    if (focused >= 0) reached()[focused]?.focus({preventScroll: true});
  }

  async function look() {
    if (busy || document.hidden) return;
    busy = true;
    try {
      const answer = await fetch(location.pathname.replace(/\/$/, "") + "/parts");
      if (!answer.ok) throw new Error(answer.status === 404 ? "No run is shown here any more." : answer.statusText);
      const parts = await answer.json();
      for (const [id, html] of Object.entries(parts)) {
        if (known.get(id) === html) continue;
        let part = document.getElementById(id);
        if (part === null) {
          part = document.createElement("section");
          part.id = id;
          document.querySelector("main").append(part);
        }
        known.set(id, html);
        fill(part, html);
      }
      for (const part of document.querySelectorAll("main > section"))
        if (!(part.id in parts)) { known.delete(part.id); part.remove(); }
      told.textContent = "";
    } catch (error) { told.textContent = error.message; } finally { busy = false; }
  }
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
})();
