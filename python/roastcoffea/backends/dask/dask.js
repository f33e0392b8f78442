"use strict";
(() => {
  const EVERY = 2000; // ms between two looks
  const told = document.getElementById("told"), known = new Map();
  let busy = false;

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
        window.roastTables.fill(part, html);
      }
      for (const part of document.querySelectorAll("main > section"))
        if (!(part.id in parts)) { known.delete(part.id); part.remove(); }
      told.textContent = "";
    } catch (error) { told.textContent = error.message; } finally { busy = false; }
  }
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
})();
