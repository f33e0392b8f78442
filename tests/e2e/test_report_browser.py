"""The report in a real browser without a network: drawn, quiet, linked, sorted, and deaf to names.

Pictures of it are kept in build/report.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from coffea import processor  # noqa: E402
from coffea.nanoevents import NanoAODSchema  # noqa: E402
from chromium import Chromium, find_chromium  # noqa: E402
from report_samples import HOSTILE, Held, chunk, large, run_of, series, usual  # noqa: E402

from roastcoffea import MetricsCollector, track_metrics, track_time  # noqa: E402
from roastcoffea.report import save_report, summary_html  # noqa: E402

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium: apt-get install chromium")

PICTURES = ROOT / "build" / "report"
CHARTS = ("workers", "throughput", "tasks", "cpu", "memory", "gantt", "scatter")

# Elements below a node, those behind shadow roots too.
ALL = """
const all = (node, found = []) => {
  for (const child of node.children) { found.push(child); all(child, found); }
  if (node.shadowRoot) all(node.shadowRoot, found);
  return found;
};
"""
# Texts that do not fit: elements that are wider inside than outside, or reach beyond the window, and texts of
# different elements that lie on each other. What stands in a box with a scroll bar is reached by scrolling.
MISPLACED = "(() => {" + ALL + """
  const answer = [], boxes = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) answer.push('the page is wider than the window');
  for (const one of document.body.querySelectorAll('*')) {
    if (one.closest('script, style, .chart, details:not([open])') || one.closest('.scroll') !== null) continue;
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    if (box.width === 0 || style.visibility === 'hidden') continue;
    const what = `${one.tagName}.${one.className} ${one.textContent.slice(0, 40)}`;
    if (box.right > width + 1 || box.left < -1) answer.push(`outside: ${what}`);
    if (one.scrollWidth > one.clientWidth + 1 && style.display !== 'inline') answer.push(`cut: ${what}`);
    for (const text of [...one.childNodes].filter((node) => node.nodeType === 3 && node.data.trim())) {
      const range = document.createRange();
      range.selectNodeContents(text);
      for (const line of range.getClientRects()) boxes.push([line, what]);
    }
  }
  for (let i = 0; i < boxes.length; i++)
    for (let k = i + 1; k < boxes.length; k++) {
      const [a, first] = boxes[i], [b, second] = boxes[k];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Lines of a paragraph touch.
      if (wide > 2 && high > 5) answer.push(`on each other: ${first} | ${second}`);
    }
  return answer;
})()"""
# Labels of the ticks of all axes, by chart.
LABELS = """(() => {
  const answer = [];
  for (const root of Bokeh.documents[0].roots())
    for (const axis of [...root.below, ...root.left]) {
      const range = axis === root.left[0] ? root.y_range : root.x_range;
      const ticks = axis.ticker.get_ticks(range.start, range.end, range, NaN).major;
      answer.push([root.name, ticks.map((tick) => axis.major_label_overrides.get
        ? (axis.major_label_overrides.get(tick)?.text ?? '') : ''), axis.formatter.doFormat(ticks, {loc: 0})]);
    }
  return answer;
})()"""
# Of each chart: how many of its pixels are painted, and in how many colours.
PAINTED = "(() => {" + ALL + """
  const answer = {};
  for (const chart of document.querySelectorAll('.chart')) {
    let pixels = 0; const colors = new Set();
    for (const canvas of all(chart).filter((one) => one.tagName === 'CANVAS' && one.width > 0)) {
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 0) { pixels++; colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]); }
    }
    answer[chart.id.replace('chart-', '')] = [pixels, colors.size];
  }
  return answer;
})()"""
RANGES = """(() => {
  const answer = {};
  for (const root of Bokeh.documents[0].roots())
    answer[root.name] = [root.x_range.start, root.x_range.end];
  return answer;
})()"""
INK = "(() => Bokeh.documents[0].roots()[0].left[0].major_label_text_color)()"


def open_report(browser, path):
    browser.open(path)
    browser.evaluate("window.roastReport.ready")
    browser.wait_until("Bokeh.documents.length === 1 && Bokeh.documents[0].is_idle")


def place_of(browser, identity):
    """Scrolls to it; left, top, width, height."""
    browser.evaluate(f"document.getElementById('{identity}').scrollIntoView({{block: 'center'}})")
    browser.pause(0.1)
    return browser.evaluate(f"(() => {{ const box = document.getElementById('{identity}').getBoundingClientRect();"
                            "return [box.left, box.top, box.width, box.height]; })()")


def picture(browser, name, width):
    height = browser.evaluate("document.documentElement.scrollHeight")
    browser.resize(width, height)
    browser.pause(0.3)
    browser.screenshot(PICTURES / f"{name}.png")
    browser.resize(width, 900)
    browser.pause(0.2)


def assert_quiet(browser, path):
    assert browser.console == []
    assert browser.failed == []
    asked = [url for url in browser.requests if not url.startswith(("data:", "about:"))]
    assert asked == [path.resolve().as_uri()]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return save_report(usual(), tmp_path_factory.mktemp("report") / "run.html")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (800, False)])
def test_everything_is_drawn(page, width, dark):
    with Chromium(width, 900, dark) as browser:
        open_report(browser, page)
        painted = browser.evaluate(PAINTED)
        assert set(painted) == set(CHARTS)
        for chart, (pixels, colors) in painted.items():
            assert pixels > 1000 and colors > 5, chart
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        picture(browser, f"{'dark' if dark else 'light'}-{width}", width)
        assert_quiet(browser, page)


LONG = "a_rather_long_name_of_a_dataset_with_TuneCP5_13TeV-amcatnloFXFX-pythia8_and_more_of_it"


def failed_run():
    """Failed, with skipped files and long names."""
    ending = {"outcome": "failed", "error": {"type": "OSError", "message": f"cannot read {LONG}", "dataset": LONG},
              "skipped_files": [{"dataset": LONG, "file": f"root://host//store/{LONG}.root", "reason": "OSError"}]}
    chunks = [{**chunk(i), "dataset": f"{LONG}_{i % 3}", "file": f"root://host//store/{LONG}/{i % 12}.root"}
              for i in range(60)]
    return Held(run_of(chunks, series(3), ending=ending))


@pytest.mark.parametrize("width", [400, 800, 1400])
@pytest.mark.parametrize("make", [usual, large, failed_run])
def test_everything_fits(tmp_path, make, width):
    path = save_report(make(), tmp_path / "run.html")
    with Chromium(width, 900) as browser:
        open_report(browser, path)
        assert browser.evaluate("document.documentElement.clientWidth") == width
        assert browser.evaluate(MISPLACED) == []
        for name, _, labels in browser.evaluate(LABELS):
            assert len(set(labels)) == len(labels), (name, labels)
        picture(browser, f"{make.__name__}-{width}", width)


def test_large_runs_are_drawn(tmp_path):
    path = save_report(large(), tmp_path / "large.html")
    with Chromium() as browser:
        open_report(browser, path)
        for chart, (pixels, colors) in browser.evaluate(PAINTED).items():
            assert pixels > 1000 and colors > 5, chart
        picture(browser, "large", 1280)
        assert_quiet(browser, path)


def test_zoom_in_one_moves_the_others(page):
    with Chromium() as browser:
        open_report(browser, page)
        before = browser.evaluate(RANGES)
        left, top, width, height = place_of(browser, "chart-memory")
        browser.drag(left + 0.4 * width, top + 0.6 * height, left + 0.6 * width, top + 0.6 * height)
        browser.wait_until(f"{RANGES}['workers'][0] > {before['workers'][0]}")
        zoomed = browser.evaluate(RANGES)
        moved = {title for title in before if zoomed[title] != before[title]}
        assert moved == set(before) - {"scatter"} and len(moved) == 6
        assert len({tuple(zoomed[title]) for title in moved}) == 1
        start, end = zoomed["workers"]
        whole = before["workers"][1] - before["workers"][0]
        assert 0.1 < (end - start) / whole < 0.35

        left, top, width, height = place_of(browser, "chart-gantt")
        browser.wheel(left + 0.5 * width, top + 0.4 * height, -200, control=True)
        browser.wait_until(f"(() => {{ const r = {RANGES}['workers']; return r[1] - r[0] < {end - start}; }})()")

        browser.evaluate("document.getElementById('reset').click()")
        browser.wait_until(f"JSON.stringify({RANGES}['workers']) === '[{','.join(map(repr, before['workers']))}]'"
                           f" || Math.abs({RANGES}['workers'][0] - {before['workers'][0]!r}) < 1e-6")
        assert browser.evaluate(RANGES)["workers"] == pytest.approx(before["workers"])
        # Without Ctrl the wheel turns the page.
        place_of(browser, "chart-workers")
        ranges, at = browser.evaluate(RANGES), browser.evaluate("window.scrollY")
        browser.wheel(left + 0.5 * width, 450, 120)
        browser.wait_until(f"window.scrollY > {at}")
        assert browser.evaluate(RANGES) == ranges
        assert_quiet(browser, page)


def test_tables_sort(page):
    names = "[...document.querySelectorAll('#table-file tbody tr')].map((row) => row.cells[0].textContent)"
    events = "[...document.querySelectorAll('#table-file tbody tr')].map((row) => parseFloat(row.cells[2].dataset.v))"
    click = "document.querySelectorAll('#table-file th button')[{}].click()"
    order = "document.querySelectorAll('#table-file th')[{}].getAttribute('aria-sort')"
    with Chromium() as browser:
        open_report(browser, page)
        assert len(browser.evaluate(names)) == 12
        browser.evaluate(click.format(2))
        found = browser.evaluate(events)
        assert found == sorted(found, reverse=True) and browser.evaluate(order.format(2)) == "descending"
        browser.evaluate(click.format(2))
        assert browser.evaluate(events) == sorted(found) and browser.evaluate(order.format(2)) == "ascending"
        browser.evaluate(click.format(0))
        assert browser.evaluate(names) == sorted(browser.evaluate(names))
        assert browser.evaluate(order.format(2)) is None
        assert_quiet(browser, page)


def test_the_rest_stays_below(tmp_path):
    path = save_report(large(), tmp_path / "large.html")
    last = "document.querySelector('#table-file').rows[document.querySelector('#table-file').rows.length - 1]"
    with Chromium() as browser:
        open_report(browser, path)
        for place in (0, 1, 2):
            browser.evaluate(f"document.querySelectorAll('#table-file th button')[{place}].click()")
            assert browser.evaluate(f"{last}.cells[0].textContent") == "60 more"


def test_theme(page):
    with Chromium(dark=True) as browser:
        open_report(browser, page)
        ground = "getComputedStyle(document.body).backgroundColor"
        dark, ink = browser.evaluate(ground), browser.evaluate(INK)
        browser.evaluate("document.getElementById('theme').click()")
        light, light_ink = browser.evaluate(ground), browser.evaluate(INK)
        assert dark != light and ink != light_ink
        browser.evaluate("document.getElementById('theme').click()")
        assert browser.evaluate(ground) == dark and browser.evaluate(INK) == ink
        assert_quiet(browser, page)
    with Chromium(dark=True) as browser:
        open_report(browser, page)
        browser.set_dark(False)
        browser.wait_until(f"{INK} === {light_ink!r}")
        assert browser.evaluate(ground) == light


def test_names_are_texts(tmp_path):
    budget = {"available_core_seconds": 1.0, "parts": {"read": 0.5, f"x{HOSTILE}": 0.5}}
    finding = {"severity": "note", "title": HOSTILE, "evidence": HOSTILE, "advice": HOSTILE}
    path = save_report(usual(hostile=HOSTILE, budget=budget, diagnose=[finding]), tmp_path / "hostile.html")
    tooltip = "(() => {" + ALL + """
      const found = all(document.body).filter((one) => one.className === 'bk-tooltip-content');
      return [found.map((one) => one.textContent).join(), found.map((one) => one.innerHTML).join()];
    })()"""
    with Chromium() as browser:
        # It runs before anything of the page does.
        browser.call("Page.addScriptToEvaluateOnNewDocument",
                     source="window.attacks = []; window.alert = (x) => window.attacks.push(x);")
        open_report(browser, path)
        left, top, width, height = place_of(browser, "chart-gantt")
        text = markup = ""
        for step in range(120):
            browser.move(left + (0.2 + 0.01 * (step % 60)) * width, top + (0.2 + 0.12 * (step // 60)) * height)
            browser.pause(0.02)
            text, markup = browser.evaluate(tooltip)
            if "dataset" in text:
                break
        assert "<script>alert(1)" in text and "&lt;script&gt;" in markup and "<img" not in markup
        assert browser.evaluate("document.querySelectorAll('main script, img, svg, iframe').length") == 0
        assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in browser.evaluate("document.body.innerText")
        browser.screenshot(PICTURES / "hostile-hover.png", whole=False)
        for chart, (pixels, colors) in browser.evaluate(PAINTED).items():
            assert pixels > 1000, chart
        assert browser.evaluate("window.attacks") == []
        assert_quiet(browser, path)


class Analysis(processor.ProcessorABC):
    @track_metrics
    def process(self, events):
        with track_time(self, "jets"):
            return {"jets": len(events.Jet[events.Jet.pt > 30])}

    def postprocess(self, accumulator):
        return accumulator


def test_a_real_run(client, fileset, tmp_path):
    runner = processor.Runner(processor.DaskExecutor(client=client, status=False), schema=NanoAODSchema, chunksize=300)
    with MetricsCollector(client, worker_tracking_interval=0.1) as collector:
        runner(fileset, processor_instance=Analysis())
    path = collector.save_report(tmp_path / "real.html")
    assert "Core Efficiency" in collector._repr_html_()
    with Chromium() as browser:
        open_report(browser, path)
        painted = browser.evaluate(PAINTED)
        assert set(painted) == set(CHARTS)
        assert all(pixels > 1000 for pixels, _ in painted.values()), painted
        assert browser.evaluate("document.querySelector('h1').textContent") == "Analysis"
        rows = "[...document.querySelectorAll('#table-dataset tbody tr')].map((row) => row.cells[0].textContent)"
        assert sorted(browser.evaluate(rows)) == ["data", "ttbar", "wjets"]
        assert browser.evaluate("document.querySelectorAll('#table-section tbody tr').length") == 1
        assert browser.evaluate("document.getElementById('budget') !== null")
        picture(browser, "real", 1280)
        assert_quiet(browser, path)


@pytest.mark.parametrize("dark", [False, True])
def test_notebook(tmp_path, dark):
    """In a cell of a page that has a theme of its own."""
    ground, ink = ("#111", "#eee") if dark else ("#fff", "#000")
    path = tmp_path / "cell.html"
    path.write_text(f"<!DOCTYPE html><meta charset=utf-8><link rel=icon href='data:,'>"
                    f"<body style='background:{ground};color:{ink}'>{summary_html(usual(60, hostile=HOSTILE))}",
                    encoding="utf-8")
    with Chromium(900, 700, dark) as browser:
        browser.open(path)
        assert browser.evaluate("getComputedStyle(document.querySelector('.roastcoffea td')).color") == \
            browser.evaluate("getComputedStyle(document.body).color")
        assert browser.evaluate("document.querySelectorAll('script, img').length") == 0
        assert browser.evaluate("[...document.querySelectorAll('details[open] > summary')].map((one) => one.innerText)") \
            == ["Findings", "Budget"]
        # No word is broken: severity and saving have one line each.
        lines = """[...document.querySelectorAll('.findings tr')].flatMap((row) => [row.cells[0], row.cells[3]])
            .map((cell) => { const range = document.createRange(); range.selectNodeContents(cell);
                             return new Set([...range.getClientRects()].map((box) => box.top)).size; })"""
        assert set(browser.evaluate(lines)) == {1}
        browser.screenshot(PICTURES / f"notebook-{'dark' if dark else 'light'}.png", whole=False)
        assert_quiet(browser, path)
