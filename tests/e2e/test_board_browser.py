"""The board in a real browser, used as people use it: sort, search, watch a run to its end, compare, ask, go back.

Pictures of it are kept in build/report.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
import urllib.parse
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from chromium import Chromium, find_chromium  # noqa: E402
from coffea import processor  # noqa: E402
from coffea.nanoevents import BaseSchema  # noqa: E402
from conftest import write_nanoaod  # noqa: E402

import roastcoffea  # noqa: E402
from roastcoffea import MetricsCollector, track_metrics  # noqa: E402
from roastcoffea.report import save_report  # noqa: E402
from roastcoffea.report._findings import findings  # noqa: E402
from roastcoffea.collector.results import open_run  # noqa: E402
from roastcoffea.web import _helper, _pages  # noqa: E402

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium: apt-get install chromium")

PICTURES = ROOT / "build" / "report"
TICKED = "[...document.querySelectorAll('.row')].filter((row) => row.querySelector('input').checked).map((row) => row.dataset.name)"
NAMES = "[...document.querySelectorAll('.row a')].map((one) => one.textContent)"


class Held(processor.ProcessorABC):
    """Its second chunk waits for a file, the others for another one, until the browser has seen what is there."""

    def __init__(self, gate=None):
        self.gate = gate

    @track_metrics
    def process(self, events):
        start, end = events.metadata["entrystart"], time.monotonic() + 120
        while self.gate is not None and start > 0 and not Path(f"{self.gate}.{1 if start == 200 else 2}").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        return {"n": len(events)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.fixture(scope="module")
def fileset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("held")
    return {"ttbar": {"files": {write_nanoaod(folder / "ttbar.root", 800, 1, branches=10): "Events"}}}


def measure(fileset, folder, name, chunksize=200, client=None, gate=None):
    executor = processor.IterativeExecutor(status=False) if client is None else processor.DaskExecutor(client=client, status=False)
    runner = processor.Runner(executor=executor, schema=BaseSchema, chunksize=chunksize, savemetrics=True)
    with MetricsCollector(client or executor, output_dir=folder, measurement_name=name) as mc:
        runner(fileset, processor_instance=Held(gate))
    return mc


@pytest.fixture(scope="module")
def folder(fileset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measurements")
    for name, chunksize in (("first", 200), ("second", 400), ("third", 200)):
        measure(fileset, folder, name, chunksize)
    return folder


@pytest.fixture(scope="module")
def board(folder):
    link = roastcoffea.board(folder)
    yield link
    link.close()


@pytest.fixture(scope="module")
def browser(board):
    with Chromium(loopback=True) as browser:
        browser.open(board.url)
        browser.wait_until(f"{NAMES}.length === 3")
        yield browser


@pytest.fixture
def runs(board, browser):
    """The page of all runs."""
    browser.console.clear()
    browser.open(board.url.partition("?")[0])
    browser.wait_until("document.querySelectorAll('.row a').length > 0")
    browser.evaluate("document.getElementById('untick').click()")
    yield browser
    assert browser.console == [] and browser.failed == []


def test_sort_search_and_back(runs):
    assert "token" not in runs.evaluate("location.href")
    assert runs.evaluate(NAMES) == ["third", "second", "first"]
    runs.evaluate("[...document.querySelectorAll('#heads button')].find((one) => one.textContent === 'Name').click()")
    assert runs.evaluate(NAMES) == ["first", "second", "third"]
    assert runs.evaluate("document.querySelector('[aria-sort=ascending]').textContent") == "Name"
    runs.evaluate("setTimeout(() => history.back())")
    runs.wait_until(f"{NAMES}[0] === 'third'")
    for text, left in (("sec", ["second"]), ("events>1", ["third", "second", "first"]), ("chunksize=400", ["second"]),
                       ("outcome=failed", []), ("*ir*", ["third", "first"]), ("[st]?????", ["second"]), ("ir*", []),
                       ("events>1 first", ["first"])):
        runs.evaluate(f"(() => {{ const box = document.getElementById('search'); box.value = {text!r};"
                      "box.dispatchEvent(new Event('input')); })()")
        assert runs.evaluate(NAMES) == left, text
    assert "q=events%3E1+first" in runs.evaluate("location.search")
    runs.open(runs.evaluate("location.href"))  # as a colleague opens it
    runs.wait_until(f"{NAMES}.join() === 'first'")


def search(runs, text):
    runs.evaluate(f"(() => {{ const box = document.getElementById('search'); box.value = {text!r};"
                  "box.dispatchEvent(new Event('input')); })()")


def choose(runs, which, value):
    runs.evaluate(f"(() => {{ const one = document.getElementById('{which}'); one.value = {value!r};"
                  "one.dispatchEvent(new Event('change')); })()")


@pytest.mark.parametrize("text, words", [("wall>abc", "abc is no number"), ("foo>3", "no column foo"), ("wall>", "missing")])
def test_a_search_that_is_not_understood(runs, text, words):
    search(runs, f"{text} first")
    told = runs.evaluate("document.getElementById('notice').textContent")
    assert text in told and words in told and runs.evaluate(NAMES) == ["first"]
    search(runs, "first")
    assert runs.evaluate("document.getElementById('notice').hidden")


def test_columns(runs):
    """Lines of the last runs of the processor; what can be sorted by, on narrow screens, too."""
    runs.resize(1400, 800)
    assert runs.evaluate("document.querySelectorAll('.row svg polyline').length") == 3
    assert runs.evaluate("[...document.querySelectorAll('.row svg circle')].every((one) => one.getAttribute('cx') > 0)")
    heads = runs.evaluate("[...document.querySelectorAll('#heads button')].map((one) => one.textContent)")
    assert "Efficiency" in heads and "Trend" not in heads
    place = runs.evaluate("[...document.getElementById('heads').children].findIndex((one) => one.textContent === 'Efficiency')")
    assert runs.evaluate(f"document.querySelector('.row').children[{place}].textContent")
    assert runs.evaluate("document.getElementById('sort').offsetParent === null")
    runs.resize(400, 800)
    assert runs.evaluate("document.getElementById('sort').offsetParent !== null")
    assert runs.evaluate("document.getElementById('sort').value") == "when down"
    choose(runs, "sort", "when up")
    assert runs.evaluate(NAMES)[0] == "first" and "up=1" in runs.evaluate("location.search")
    runs.resize(1280, 900)


def test_outcomes(runs):
    for outcome, count in (("failed", 0), ("done", 3), ("live", 0), ("", 3)):
        choose(runs, "outcome", outcome)
        assert len(runs.evaluate(NAMES)) == count


def test_scaling_of_ticked_runs(runs):
    runs.evaluate("document.querySelectorAll('.row input').forEach((one) => one.click())")
    runs.evaluate("document.getElementById('scaling').click()")
    runs.wait_until("document.querySelector('h1')?.textContent === 'Scaling'")
    assert "first" in runs.evaluate("document.body.textContent")


def test_draws_once_in_a_frame(runs):
    """However many events tell that the list was scrolled."""
    drawn = runs.evaluate("""(async () => {
      let count = 0;
      const watch = new MutationObserver(() => count++);
      watch.observe(document.getElementById('list'), {attributes: true});
      for (let i = 0; i < 20; i++) document.getElementById('window').dispatchEvent(new Event('scroll'));
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return count;
    })()""")
    assert drawn == 1


def test_a_ticked_run_that_vanishes(folder, browser, tmp_path):
    for name in ("first", "second"):
        shutil.copytree(folder / name, tmp_path / name)
    link = roastcoffea.board(tmp_path)
    try:
        browser.open(link.url)
        browser.wait_until(f"{NAMES}.length === 2")
        browser.evaluate("document.querySelectorAll('.row input').forEach((one) => one.click())")
        assert not browser.evaluate("document.getElementById('compare').disabled")
        shutil.rmtree(tmp_path / "first")
        browser.wait_until(f"{NAMES}.length === 1")
        assert browser.evaluate("document.getElementById('compare').disabled")
    finally:
        browser.open("about:blank")
        link.close()


FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.mark.parametrize("page", ["ask/first?q=select+*+from+chunks", "compare?run=first&run=second",
                                  "compare?run=first&run=second&run=third", "scaling?run=first&run=second"])
def test_pages_fit_a_narrow_screen(runs, page):
    runs.resize(400, 800)
    runs.open(runs.evaluate("location.href.split('?')[0]") + page)
    runs.wait_until("document.querySelectorAll('td').length > 0")
    assert runs.evaluate(FITS)
    runs.resize(1280, 900)


def test_the_page_of_the_token(folder, browser):
    link = roastcoffea.board(folder)
    try:
        browser.resize(400, 800)
        browser.open(link.url.partition("?")[0] + "compare?run=first&run=second")
        assert browser.evaluate("document.querySelector('h1').textContent") == "Token" and browser.evaluate(FITS)
        token = link.url.partition("token=")[2]
        browser.evaluate(f"document.querySelector('[name=token]').value = '{token}'")
        browser.evaluate("document.querySelector('main form').requestSubmit()")
        browser.wait_until("document.querySelector('h1')?.textContent === 'Comparison'")
        assert token not in browser.evaluate("location.href")
    finally:
        browser.resize(1280, 900)
        browser.open("about:blank")
        browser.console.clear()  # a page without the token is answered with 403
        browser.failed.clear()
        link.close()


def test_a_live_row_and_a_reload(runs, fileset, folder, client, tmp_path):
    row = "[...document.querySelectorAll('.row')].find((one) => one.dataset.name === 'listed')"
    events = f"{row}?.children[5].textContent"
    gate, mc = str(tmp_path / "gate"), []
    run = threading.Thread(target=lambda: mc.append(measure(fileset, folder, "listed", client=client, gate=gate)))
    run.start()
    try:
        runs.wait_until(f"{row}?.querySelector('.live') != null", 60)
        runs.wait_until(f"{events} === '200'", 60)
        runs.open(runs.evaluate("location.href.split('?')[0]") + "run/listed")
        runs.resize(400, 800)
        runs.wait_until("document.querySelector('progress')?.value === 1", 60)
        assert runs.evaluate(FITS)
        runs.evaluate("window.before = true")
        runs.call("Page.reload")
        runs.wait_until("window.before === undefined && document.querySelector('progress')?.value === 1", 60)
        runs.resize(1280, 900)
        runs.evaluate("document.querySelector('a.home').click()")
        runs.wait_until(f"{events} === '200'", 60)
        (tmp_path / "gate.1").touch()
        runs.wait_until(f"{events} === '400'", 60)
    finally:
        runs.resize(1280, 900)
        (tmp_path / "gate.1").touch()
        (tmp_path / "gate.2").touch()
        run.join()
    runs.wait_until(f"{row}?.children[3].textContent === 'done' && {events} === '800'", 60)
    shutil.rmtree(folder / "listed")
    runs.wait_until(f"{row} === undefined")


def test_an_answer_keeps_its_columns(runs):
    cells = "[...document.querySelectorAll('#answer tr')].map((row) => [...row.children].map((one) => one.textContent))"
    for query, table in (("select 2, 1", [["2", "1"], ["2", "1"]]), ("select 'x' a, 'y' a", [["a", "a"], ["x", "y"]]),
                         ("select 1 b where 0", [["b"]]), ("select 9007199254740993 c", [["c"], ["9007199254740993"]])):
        base = runs.evaluate("location.origin + '/'")
        runs.open(f"{base}ask/first?" + urllib.parse.urlencode({"q": query}))
        runs.wait_until("document.querySelectorAll('#answer th').length > 0")
        assert runs.evaluate(cells) == table


def test_compare_ticked_runs(runs):
    assert runs.evaluate("document.getElementById('compare').disabled")
    runs.evaluate("[...document.querySelectorAll('.row')].slice(1).forEach((row) => row.querySelector('input').click())")
    runs.evaluate("document.getElementById('compare').click()")
    runs.wait_until("document.querySelector('h1')?.textContent === 'Comparison'")
    assert "first" in (about := runs.evaluate("document.querySelector('.about').textContent")) and about.startswith("A:")
    assert "Chunk Size" in runs.evaluate("document.body.textContent")
    runs.evaluate("setTimeout(() => history.back())")
    # what was ticked still is, wherever one was meanwhile
    runs.wait_until("document.querySelector('h1')?.textContent === 'Runs' && document.querySelectorAll('.row').length === 3")
    assert runs.evaluate(TICKED) == ["second", "first"]
    assert runs.evaluate("document.getElementById('compare').textContent") == "Compare 2"
    runs.evaluate("document.getElementById('untick').click()")
    assert runs.evaluate(TICKED) == [] and runs.evaluate("document.getElementById('compare').disabled")
    assert runs.evaluate("document.getElementById('untick').hidden")


def test_a_report_has_its_charts_and_a_way_back(runs):
    runs.evaluate("document.querySelector('.row a').click()")
    runs.wait_until("document.querySelector('#chart-throughput')?.children.length > 0")
    # reports of one processor do not look alike
    assert runs.evaluate("document.querySelector('h1').textContent") == "third"
    assert runs.evaluate("document.title").startswith("third · ")
    assert "Held" in runs.evaluate("document.querySelector('.about').textContent")
    runs.evaluate("document.querySelector('a.home').click()")
    runs.wait_until("document.querySelector('h1')?.textContent === 'Runs'")


def test_ask(runs):
    runs.open(runs.evaluate("location.href.split('?')[0] + 'ask/first'"))
    runs.evaluate("document.getElementById('sql').value = 'select count(*) as chunks, sum(num_events) as events from chunks'")
    runs.evaluate("document.querySelector('#query button').click()")
    runs.wait_until("document.querySelectorAll('#answer td').length === 2")
    assert runs.evaluate("[...document.querySelectorAll('#answer td')].map((one) => one.textContent)") == ["4", "800"]
    assert runs.evaluate("fetch(document.getElementById('csv').href).then((one) => one.text())").split() == [
        "chunks,events", "4,800"]
    runs.wait_until("document.getElementById('tables').textContent.includes('num_events')")
    runs.evaluate("document.getElementById('sql').value = 'select none from chunks'")
    runs.evaluate("document.querySelector('#query button').click()")
    runs.wait_until("document.getElementById('told').className === 'wrong'")
    assert "none" in runs.evaluate("document.getElementById('told').textContent")
    runs.evaluate("setTimeout(() => history.back())")
    runs.wait_until("document.querySelectorAll('#answer td').length === 2")
    runs.failed.clear()  # the wrong query was answered with 400
    runs.console.clear()


def test_the_answer_is_that_of_the_last_query(runs):
    """Whichever comes first."""
    runs.open(runs.evaluate("location.href.split('?')[0] + 'ask/first'"))
    runs.evaluate("""(() => {
      const real = window.fetch, gate = new Promise((open) => { window.open_gate = open; });
      window.slow = [];
      window.fetch = (address, options) => {
        if (!String(address).includes('slow')) return real(address, options);
        const answer = gate.then(() => real(address));
        window.slow.push(answer.then((one) => one.clone().json()));
        return answer;
      };
    })()""")
    for word in ("slow", "fast"):
        runs.evaluate(f"document.getElementById('sql').value = `select '{word}' as {word}`")
        runs.evaluate("document.getElementById('query').requestSubmit()")
    answer = "document.getElementById('answer').textContent"
    runs.wait_until(f"{answer} === 'fastfast'")
    runs.evaluate("window.open_gate(), Promise.all(window.slow).then(() => new Promise((done) => setTimeout(done, 50)))")
    assert runs.evaluate(answer) == "fastfast" and runs.evaluate("document.getElementById('told').textContent") == "1 row"
    assert "fast" in runs.evaluate("document.getElementById('csv').href")
    # and that of the address: here nothing was asked yet
    runs.evaluate("setTimeout(() => history.go(-2))")
    runs.wait_until("location.search === ''")
    runs.wait_until("document.getElementById('sql').value.startsWith('select dataset')")
    assert runs.evaluate(answer) == "" and runs.evaluate("document.getElementById('told').textContent") == ""
    assert runs.evaluate("document.getElementById('csv').hidden")


def test_tables_stand_beside_the_query(runs):
    many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) select i from n"
    address = runs.evaluate("location.href.split('?')[0]") + "ask/first?" + urllib.parse.urlencode({"q": many})
    box = "(() => {{ const {{left, right, top, bottom}} = document.querySelector('{}').getBoundingClientRect();" \
          "return {{left, right, top, bottom}}; }})()"
    for width in (1400, 400):
        runs.resize(width, 800)
        runs.open(address)
        runs.wait_until("document.querySelectorAll('#answer td').length === 500 && document.querySelector('#tables dd') !== null")
        query, tables, answer = (runs.evaluate(box.format(one)) for one in ("#query", "#columns", "#answer"))
        if width == 1400:
            assert tables["left"] > query["right"] and tables["left"] > answer["right"] and tables["top"] == query["top"]
            runs.screenshot(PICTURES / "board-ask.png", whole=False)
            runs.evaluate("scrollTo(0, 5000)")  # they stay in sight
            assert runs.evaluate(box.format("#columns"))["bottom"] <= 800
        else:
            assert query["bottom"] <= tables["top"] and tables["bottom"] <= answer["top"] and tables["bottom"] < 800
            runs.evaluate("document.querySelector('#columns summary').click()")
            assert runs.evaluate(FITS) and runs.evaluate("document.querySelector('#tables dd').checkVisibility()")
    runs.resize(1280, 900)


def test_light_or_dark_on_all_pages(runs, folder, tmp_path):
    home = runs.evaluate("location.href.split('?')[0]")
    theme = "document.documentElement.dataset.theme"
    ways = ["", "ask/first", "run/first", "compare?run=first&run=second", "scaling?run=first&run=second"]
    try:
        for chosen, way in enumerate((ways[0], ways[2])):
            runs.open(home + way)
            runs.evaluate("document.getElementById('theme').click()")
            for other in ways:
                runs.open(home + other)
                assert runs.evaluate(theme) == ("dark", "light")[chosen], (way, other)
    finally:
        runs.evaluate("localStorage.clear()")
    # a file, in a browser that keeps nothing
    path = save_report(open_run(folder / "first"), tmp_path / "report.html")
    script = runs.call("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(window, 'localStorage', "
                       "{get() { throw new DOMException('no', 'SecurityError'); }})")["identifier"]
    try:
        runs.open(path)
        for chosen in ("dark", "light"):
            runs.evaluate("document.getElementById('theme').click()")
            assert runs.evaluate(theme) == chosen
    finally:
        runs.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_news_of_a_run_are_announced_once(browser, folder, tmp_path, monkeypatch):
    """Numbers in a title change at each look."""
    async def as_if_live(self, what, base, run, path):
        return _pages.Pages(base).live(run)

    monkeypatch.setattr(_helper.Helper, "ask", as_if_live)
    shutil.copytree(folder / "first", tmp_path / "first")
    link = roastcoffea.board(tmp_path)
    told = "document.getElementById('news').textContent"

    def look(titles, errors):
        """What the board says then."""
        html = findings(SimpleNamespace(ask=lambda _: [{"title": title, "severity": "warning"} for title in titles]))
        failures = "".join(f"<li><bdi>{error}</bdi><br><small><bdi>ttbar, file{i}.root</bdi>, entries 0 to 5</small></li>"
                           for i, error in enumerate(errors))
        parts = {"findings": html, "failures": f"<ul>{failures}</ul>"}
        browser.evaluate(f"window.told = {json.dumps({'state': 'live', 'order': list(parts), 'parts': parts, 'version': 1})}; "
                         "window.looks = 0; document.getElementById('news').textContent = ''")
        browser.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        browser.wait_until("window.looks > 0")
        return browser.evaluate(told)

    stub = ("window.told = {state: 'live', version: 0, order: [], parts: {}}; "
            "window.fetch = async () => { const text = JSON.stringify(window.told); "
            "return {ok: true, json: async () => { setTimeout(() => window.looks++); return JSON.parse(text); }}; };")
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=stub)["identifier"]
    try:
        browser.open(link.url.replace("/?", "/run/first?"))
        assert look(["646 ms of work was lost"], []) == ""  # what is there at first is read with the page
        assert look(["646 ms of work was lost", "12.5 % of the task time is unpacking"], ["ValueError: no jets"]) == (
            "New: 12.5 % of the task time is unpacking; ValueError: no jets")
        assert look(["1.3 s of work was lost", "9 % of the task time is unpacking"], ["ValueError: no jets"] * 3) == ""
        assert look(["1,200 s of work was lost"], ["OSError: gone", "ValueError: no jets"]) == "New: OSError: gone"
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
        browser.open("about:blank")
        link.close()


def test_a_run_of_a_cluster_is_watched_to_its_end(runs, fileset, folder, client, tmp_path):
    gate, mc = str(tmp_path / "gate"), []
    run = threading.Thread(target=lambda: mc.append(measure(fileset, folder, "watched", client=client, gate=gate)))
    run.start()
    try:
        runs.wait_until(f"{NAMES}.includes('watched')", 60)
        runs.wait_until("document.querySelector('.row .live') !== null")
        runs.screenshot(PICTURES / "board.png", whole=False)
        runs.evaluate("[...document.querySelectorAll('.row a')].find((one) => one.textContent === 'watched').click()")
        runs.wait_until("document.querySelector('progress')?.value === 1", 60)
        assert runs.evaluate("document.querySelector('progress').max") == 4
        told = runs.evaluate("document.getElementById('part-progress').textContent")
        assert "1 of 4" in told and "left" in told
        # chunks by worker; what was sorted and where one was stays when more comes
        runs.wait_until("document.querySelectorAll('#table-live-workers tbody tr').length >= 1")
        runs.evaluate("document.querySelector('#table-live-workers th button').click()")
        runs.evaluate("document.querySelector('#table-live-workers th button').focus()")
        runs.wait_until("document.querySelector('#part-time polyline') !== null")
        runs.screenshot(PICTURES / "board-live.png")
        runs.set_dark(True)
        runs.screenshot(PICTURES / "board-live-dark.png")
        runs.set_dark(False)
        (tmp_path / "gate.1").touch()
        runs.wait_until("document.querySelector('progress')?.value === 2", 60)
        assert runs.evaluate("document.querySelector('#table-live-workers th').ariaSort") == "ascending"
        assert runs.evaluate("document.activeElement.textContent") == "Worker"
    finally:
        (tmp_path / "gate.1").touch()
        (tmp_path / "gate.2").touch()
        run.join()
    assert mc[0].outcome == "done"
    runs.wait_until("document.querySelector('.outcome')?.textContent.includes('Done: 4 of 4 chunks')", 60)
    runs.wait_until("document.querySelector('#chart-throughput')?.children.length > 0")


def test_rows_by_the_keyboard(runs):
    def press(key):
        for kind in ("keyDown", "keyUp"):
            runs.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode={"ArrowDown": 40, "ArrowUp": 38, "End": 35, "Home": 36, "Tab": 9}[key])

    runs.evaluate("document.getElementById('window').focus()")
    names = runs.evaluate(NAMES)
    press("ArrowDown")
    assert runs.evaluate("document.activeElement.textContent") == names[0]
    press("ArrowDown")
    assert runs.evaluate("document.activeElement.textContent") == names[1]
    press("End")
    assert runs.evaluate("document.activeElement.textContent") == names[-1]
    press("Home")
    for row in names[:2]:  # from the name to the tick of the same run
        assert runs.evaluate("document.activeElement.textContent") == row
        press("Tab")
        assert runs.evaluate("document.activeElement.ariaLabel") == f"tick {row}"
        press("Tab")
    heads = runs.evaluate("[...document.getElementById('heads').children].map((one) => one.textContent)")
    assert heads[:2] == ["Name", "Ticked"]
    assert runs.evaluate("document.querySelector('.row input').getBoundingClientRect().right <= "
                         "document.querySelector('.row a').getBoundingClientRect().left")
    runs.evaluate("document.querySelector('.row input').focus()")
    press("ArrowDown")  # from tick to tick
    assert runs.evaluate("document.activeElement.ariaLabel") == f"tick {names[1]}"
    # everything that can be pressed has a name
    assert runs.evaluate("[...document.querySelectorAll('a, button, input, select')].every((one) => "
                         "(one.textContent || one.ariaLabel || one.labels?.length))")


@pytest.mark.parametrize("width", [400, 800, 1010, 1250, 1400])
def test_it_fits(runs, width):
    runs.resize(width, 800)
    time.sleep(0.1)
    runs.screenshot(PICTURES / f"board-{width}.png", whole=False)
    runs.set_dark(True)
    runs.screenshot(PICTURES / f"board-{width}-dark.png", whole=False)
    runs.set_dark(False)
    assert runs.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert runs.evaluate("[...document.querySelectorAll('.row')].every((row) => row.scrollWidth <= row.clientWidth + 1)")


def test_ten_thousand_rows_are_drawn_in_part(runs):
    """Only what is seen is in the page, wherever one scrolls."""
    runs.resize(1200, 800)
    keys = ["name", "state", "when", "outcome", "wall_time", "processor"]
    rows = [[f"run{i:05}", "finished", f"2026-01-01T00:00:{i % 60:02}", "done", float(i), "P"] for i in range(10_000)]
    tell(runs, keys, rows)
    runs.wait_until("document.getElementById('count').textContent.startsWith('10,000')")
    runs.evaluate("document.getElementById('window').scrollTop = 150000")
    runs.wait_until("document.querySelector('.row').ariaRowIndex > 4000")
    assert runs.evaluate("document.querySelectorAll('.row').length") < 100
    # rows that stay in sight are not made again, whichever way one goes
    for step in (68, -102):
        runs.evaluate("window.before = [...document.querySelectorAll('.row')], window.at = window.before[0].ariaRowIndex; 0")
        runs.evaluate(f"document.getElementById('window').scrollTop += {step}")
        runs.wait_until("document.querySelector('.row').ariaRowIndex !== window.at")
        kept = runs.evaluate("[...document.querySelectorAll('.row')].filter((row) => window.before.includes(row)).length")
        assert kept == runs.evaluate("window.before.length") - abs(step) // 34
        places = runs.evaluate("[...document.querySelectorAll('.row')].map((row) => [+row.ariaRowIndex, parseInt(row.style.top)])")
        assert places == [[places[0][0] + i, (places[0][0] + i - 2) * 34] for i in range(len(places))]


def test_figures_are_not_cut(runs):
    """Counts and efficiency as in roast ls, whatever the width of the column."""
    figures = {"total_events": (2_000_000_000, "2.00 G"), "core_efficiency": (0.345, "34.5 %"),
               "wall_time": (359_000.0, "99.7 h"), "event_rate_wall_khz": (999.4, "999 kHz"),
               "data_rate_gbps": (1.2, "1.20 Gbps"), "avg_workers": (12_345.0, "12,345")}
    keys = ["name", "state", "when", "outcome", *figures, *(f"{key}_text" for key in figures)]
    row = ["large", "finished", "2026-01-01T00:00:00", "done"]
    counts = [(99, "99"), (999, "999"), (99_999, "99,999"), (2_000_000_000, "2.00 G"), (123_456_789_012, "123 G")]
    rest = [value for value, _ in list(figures.values())[1:]], [text for _, text in list(figures.values())[1:]]
    tell(runs, keys, [[f"{i}{row[0]}", *row[1:], count, *rest[0], text, *rest[1]] for i, (count, text) in enumerate(counts)])
    runs.wait_until("document.querySelectorAll('.row').length === 5")
    runs.evaluate("[...document.querySelectorAll('#heads button')].find((one) => one.textContent === 'Name').click()")
    cells = "[...document.querySelectorAll('.row')].map((row) => row.querySelectorAll('.n')[{}].{})"
    assert runs.evaluate(cells.format(1, "textContent")) == [text for _, text in counts]
    assert runs.evaluate(cells.format(1, "title")) == ["", "", "", "2,000,000,000", "123,456,789,012"]
    assert set(runs.evaluate(cells.format(5, "textContent"))) == {"34.5 %"}
    for width in (400, 600, 1010, 1250, 1400):
        runs.resize(width, 800)
        assert runs.evaluate("[...document.querySelectorAll('.row .n')].every((one) => one.scrollWidth <= one.clientWidth)"), width
    runs.resize(1280, 900)


def tell(runs, keys, rows):
    """Rows that the page takes for those of the board."""
    runs.evaluate("window.told = " + json.dumps({"version": 9, "keys": keys, "rows": rows, "gone": [], "all": 1}))
    runs.evaluate("(() => { const real = window.fetch; window.fetch = (...given) => String(given[0]).includes('api/runs') ? "
                  "Promise.resolve(new Response(JSON.stringify(window.told))) : real(...given); })()")
