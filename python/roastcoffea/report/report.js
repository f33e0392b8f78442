"use strict";
(() => {
  // ---- colours: the charts follow the page ----

  // What each sort of model takes from the page's variables.
  const paints = {
    Grid: {grid_line_color: "--grid"},
    LabelSet: {text_color: "--ink"},
    axis: {major_label_text_color: "--soft", axis_label_text_color: "--soft"},
  };

  function paint() {
    if (typeof Bokeh === "undefined") return;
    const style = getComputedStyle(document.documentElement);
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

  document.getElementById("theme").addEventListener("click", paint); // after tables.js has changed it
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

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

  window.roastReport = {ready: draw()};
})();
