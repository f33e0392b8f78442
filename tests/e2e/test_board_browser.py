"""The board in a real browser, used as people use it: sort, search, watch a run to its end, compare, ask, go back.

Pictures of it are kept in build/report.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "browser"))

from chromium import Chromium, find_chromium  # noqa: E402
from coffea import processor  # noqa: E402
from coffea.nanoevents import BaseSchema  # noqa: E402
from conftest import write_nanoaod  # noqa: E402

import roastcoffea  # noqa: E402
from roastcoffea import MetricsCollector, track_metrics  # noqa: E402

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium: apt-get install chromium")

PICTURES = ROOT / "build" / "report"
NAMES = "[...document.querySelectorAll('.row a')].map((one) => one.textContent)"


class Held(processor.ProcessorABC):
    """Its chunks wait until the browser has seen them."""

    go_on = threading.Event()

    @track_metrics
    def process(self, events):
        if events.metadata["entrystart"] > 0:
            assert self.go_on.wait(60)
        return {"n": len(events)}

    def postprocess(self, accumulator):
        return accumulator


@pytest.fixture(scope="module")
def fileset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("held")
    return {"ttbar": {"files": {write_nanoaod(folder / "ttbar.root", 800, 1, branches=10): "Events"}}}


def measure(fileset, folder, name, chunksize=200):
    executor = processor.IterativeExecutor(status=False)
    runner = processor.Runner(executor=executor, schema=BaseSchema, chunksize=chunksize, savemetrics=True)
    with MetricsCollector(executor, output_dir=folder, measurement_name=name) as mc:
        runner(fileset, processor_instance=Held())
    return mc


@pytest.fixture(scope="module")
def folder(fileset, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measurements")
    Held.go_on.set()
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
    yield browser
    assert browser.console == [] and browser.failed == []


def test_sort_search_and_back(runs):
    assert "token" not in runs.evaluate("location.href")
    assert runs.evaluate(NAMES) == ["third", "second", "first"]
    runs.evaluate("[...document.querySelectorAll('#heads button')].find((one) => one.textContent === 'Name').click()")
    assert runs.evaluate(NAMES) == ["first", "second", "third"]
    assert runs.evaluate("document.querySelector('[aria-sort=ascending]').textContent") == "Name"
    runs.evaluate("history.back()")
    runs.wait_until(f"{NAMES}[0] === 'third'")
    for text, left in (("sec", ["second"]), ("events>1", ["third", "second", "first"]), ("chunksize=400", ["second"]),
                       ("outcome=failed", []), ("events>1 first", ["first"])):
        runs.evaluate(f"(() => {{ const box = document.getElementById('search'); box.value = {text!r};"
                      "box.dispatchEvent(new Event('input')); })()")
        assert runs.evaluate(NAMES) == left, text
    assert "q=events%3E1+first" in runs.evaluate("location.search")
    runs.open(runs.evaluate("location.href"))  # as a colleague opens it
    runs.wait_until(f"{NAMES}.join() === 'first'")


def test_compare_ticked_runs(runs):
    assert runs.evaluate("document.getElementById('compare').disabled")
    runs.evaluate("[...document.querySelectorAll('.row')].slice(1).forEach((row) => row.querySelector('input').click())")
    runs.evaluate("document.getElementById('compare').click()")
    runs.wait_until("document.querySelector('h1')?.textContent === 'Comparison'")
    assert "first" in (about := runs.evaluate("document.querySelector('.about').textContent")) and about.startswith("A:")
    assert "Chunk Size" in runs.evaluate("document.body.textContent")
    runs.evaluate("history.back()")
    runs.wait_until("document.querySelector('h1')?.textContent === 'Runs'")


def test_a_report_has_its_charts_and_a_way_back(runs):
    runs.evaluate("document.querySelector('.row a').click()")
    runs.wait_until("document.querySelector('#chart-throughput')?.children.length > 0")
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
    runs.evaluate("history.back()")
    runs.wait_until("document.querySelectorAll('#answer td').length === 2")
    runs.failed.clear()  # the wrong query was answered with 400
    runs.console.clear()


def test_a_run_is_watched_to_its_end(runs, fileset, folder):
    Held.go_on.clear()
    run = threading.Thread(target=measure, args=(fileset, folder, "watched"))
    run.start()
    try:
        runs.wait_until(f"{NAMES}.includes('watched')")
        runs.wait_until("document.querySelector('.row .live') !== null")
        runs.screenshot(PICTURES / "board.png", whole=False)
        runs.evaluate("[...document.querySelectorAll('.row a')].find((one) => one.textContent === 'watched').click()")
        runs.wait_until("document.querySelector('progress')?.value === 1")
        assert runs.evaluate("document.querySelector('progress').max") == 4
        assert "1 of 4" in runs.evaluate("document.getElementById('part-headline').textContent")
        runs.screenshot(PICTURES / "board-live.png")
    finally:
        Held.go_on.set()
        run.join()
    runs.wait_until("document.querySelector('.outcome')?.textContent.includes('Done: 4 of 4 chunks')")
    runs.wait_until("document.querySelector('#chart-throughput')?.children.length > 0")


@pytest.mark.parametrize("width", [400, 800, 1400])
def test_it_fits(runs, width):
    runs.resize(width, 800)
    time.sleep(0.1)
    runs.screenshot(PICTURES / f"board-{width}.png", whole=False)
    assert runs.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert runs.evaluate("[...document.querySelectorAll('.row')].every((row) => row.scrollWidth <= row.clientWidth + 1)")


def test_ten_thousand_rows_are_drawn_in_part(runs):
    """Only what is seen is in the page, wherever one scrolls."""
    runs.resize(1200, 800)
    keys = ["name", "state", "when", "outcome", "wall_time", "processor"]
    rows = [[f"run{i:05}", "finished", f"2026-01-01T00:00:{i % 60:02}", "done", float(i), "P"] for i in range(10_000)]
    runs.evaluate("window.told = " + repr({"version": 9, "keys": keys, "rows": rows, "gone": [], "all": 1}))
    runs.evaluate("(() => { const real = window.fetch; window.fetch = (...given) => String(given[0]).includes('api/runs') ? "
                  "Promise.resolve(new Response(JSON.stringify(window.told))) : real(...given); })()")
    runs.wait_until("document.getElementById('count').textContent.startsWith('10,000')")
    runs.evaluate("document.getElementById('window').scrollTop = 150000")
    runs.wait_until("document.querySelector('.row').ariaRowIndex > 4000")
    assert runs.evaluate("document.querySelectorAll('.row').length") < 100
