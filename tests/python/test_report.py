"""The report as a file: what is in it, that it stands alone, and that names stay names."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import bokeh
import numpy as np
import pytest
from report_samples import HOSTILE, T0, Held, Page, Tables, chunk, large, run_of, series, usual

from roastcoffea import report
from roastcoffea._core import Attempts, ChunkLog, Run, format_value
from roastcoffea.__main__ import main
from roastcoffea.report import report_html, save_report, summary_html

CHARTS = {"workers", "throughput", "tasks", "cpu", "memory", "gantt", "scatter"}


def charts_of(page):
    return {identity.removeprefix("chart-") for identity in page.ids() if identity.startswith("chart-")}


@pytest.fixture(scope="module")
def everything():
    budget = {"available_core_seconds": 100.0, "parts": {"read": 60.0, "compute_cpu": 39.99, "lost": 0.01}}
    finding = {"kind": "io_bound", "severity": "critical", "title": "It waits", "evidence": "60 % of the time",
               "advice": "Read less", "saving_core_seconds": 30.0, "confidence": 0.9}
    return report_html(usual(budget=budget, diagnose=[finding]))


# ---- alone ----

def test_nothing_is_loaded(everything):
    page = Page(everything)
    assert not page.tags() & {"iframe", "img", "object", "embed", "base", "video", "audio", "source", "form"}
    for tag, attrs in page.elements:
        assert "src" not in attrs and "srcset" not in attrs, tag
        if "href" in attrs:
            assert attrs["href"].startswith("#") or attrs["href"] == "data:,", attrs
    policy = next(attrs["content"] for tag, attrs in page.elements if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none';") and "http" not in policy and "eval" not in policy
    style = re.search("<style>(.*?)</style>", everything, re.DOTALL)[1]
    assert "url(" not in style and "@import" not in style


def test_only_what_is_used_of_bokeh_is_inside(everything):
    core = (Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js").read_text(encoding="utf-8")
    size = sum(len(data) for attrs, data in Page(everything).scripts if "id" not in attrs)
    assert len(core) <= size < len(core) + 20_000


def test_a_report_is_small_whatever_the_run_is():
    text = report_html(large())
    assert len(text.encode()) < 8_000_000
    assert charts_of(Page(text)) == CHARTS


# ---- parts ----

CARDS = ["Wall Time", "Outcome", "Event Rate", "Data Rate", "Core Efficiency", "Peak Memory"]


def cards_of(page):
    return re.findall(r'<div class="tile"><span class="label">([^<]+)</span>', page)


def test_everything_is_there(everything):
    page = Page(everything)
    assert charts_of(page) == CHARTS
    for part in ("findings", "budget", "time", "chunks", "tables", "summary", "quality", "provenance", "theme"):
        assert part in page.ids(), part
    assert {"It waits", "60 % of the time", "Read less", "critical"} <= set(page.texts)
    assert "something was not measured" in page.texts
    assert {"executor", "DaskExecutor"} <= set(page.texts)
    assert "Event Rate per Core" in page.texts
    assert cards_of(everything) == CARDS


def test_budget_bar(everything):
    segments = re.findall(r'<span style="flex-grow:([0-9.]+);background:([^"]+)" title="([^"]+)">', everything)
    assert [float(width) for width, _, _ in segments] == [0.6, 0.3999]
    assert segments[0][2] == f"Reading Columns: {format_value(60.0, 's')}, 60.0 %"


def test_a_diagnosis_without_findings_says_so():
    assert "Nothing stands out." in Page(report_html(usual(20, diagnose=[]))).text


def test_what_is_not_known_is_left_out():
    page = Page(report_html(Held(Run(t_start=1.0, t_end=2.0))))
    assert not charts_of(page) and "budget" not in page.ids() and "tables" not in page.ids()
    assert "Bokeh" not in "".join(data for _, data in page.scripts if len(data) > 100_000)
    page = Page(report_html(Held(run_of([chunk(i) for i in range(5)]))))
    assert charts_of(page) == {"throughput", "tasks", "gantt", "scatter"}
    page = Page(report_html(Held(run_of([], series()))))
    assert charts_of(page) == {"workers", "tasks", "cpu", "memory"}


@pytest.mark.parametrize("chunks", [
    [{}], [{"duration": 1.0}], [{"t_start": 1.0, "duration": 0.0, "worker": "w", "num_events": 0}],
    [{"duration": 1.0, "num_events": 5}] * 3, [{"error": "ValueError: x", "duration": 1.0, "num_events": 3}],
    [{"t_start": 5.0, "duration": 1.0, "host": "h", "bytes_read": 1, "dataset": "", "file": ""}],
])
def test_odd_runs_have_a_report(chunks):
    for options in ({}, {"t_start": None, "t_end": None, "report": None, "meta": {}, "notes": []}):
        page = Page(report_html(Held(run_of(ChunkLog(chunks), series(1, 1), **options))))
        assert "summary" in page.ids() or "quality" in page.ids()


def test_nothing_collected_yet(tmp_path):
    with pytest.raises(RuntimeError, match="nothing to report yet"):
        save_report(Held(None), tmp_path / "x.html")
    assert not list(tmp_path.iterdir())


# ---- charts ----

def models_of(text):
    """All models of the document, by type."""
    found = {}

    def walk(value):
        if isinstance(value, dict):
            if value.get("type") == "object" and "attributes" in value:
                found.setdefault(value["name"], []).append(value["attributes"])
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    walk(json.loads(Page(text).script("charts")))
    return found


def numbers(value):
    """An array as Bokeh writes it."""
    if isinstance(value, dict) and value["type"] == "ndarray":
        data = base64.b64decode(value["array"]["data"])
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return np.frombuffer(data, value["dtype"]).reshape(value["shape"])
    return np.asarray(value)


def columns_with(models, *names):
    """The data of the sources that have these columns."""
    found = []
    for source in models["ColumnDataSource"]:
        data = {key: value for key, value in source["data"]["entries"]}
        if set(names) <= set(data):
            found.append(data)
    return found


def test_charts_over_time_share_their_range(everything):
    document = json.loads(Page(everything).script("charts"))["document"]
    ranges = [root["attributes"]["x_range"] for root in document["roots"]]
    shared = ranges[0]["id"]
    assert [one["id"] == shared for one in ranges] == [True] * 6 + [False]


def test_bars_of_chunks():
    results = usual(40)
    (bars,) = columns_with(models_of(report_html(results)), "top", "bottom", "worker")
    start, width = numbers(bars["t"]), numbers(bars["end"]) - numbers(bars["t"])
    assert np.allclose(start, [chunk(i)["t_start"] - T0 for i in range(40)], atol=1e-5)
    assert np.allclose(width, [chunk(i)["duration"] for i in range(40)], atol=1e-5)
    assert bars["worker"] == [chunk(i)["worker"] for i in range(40)]
    assert bars["events"] == [f"{chunk(i)['num_events']:,}" for i in range(40)]
    # rows do not overlap
    for row in set(numbers(bars["top"])):
        here = np.flatnonzero(numbers(bars["top"]) == row)
        order = here[np.argsort(start[here])]
        assert all(start[b] >= start[a] + width[a] - 1e-5 for a, b in zip(order, order[1:]))


def test_bars_of_tasks():
    """All tasks are drawn; those of chunks from before process() to their end."""
    attempts = Attempts()
    for i in range(4):
        began = chunk(i)["t_start"] - 0.1
        attempts.add(f"Analysis-{i}", kind="processing", name="Analysis", worker=chunk(i)["worker"], start=began,
                     stop=chunk(i)["t_start"] + chunk(i)["duration"] + 0.2)
    attempts.add("merge-0", kind="reduction", name="merge", worker=chunk(0)["worker"], start=T0 + 9, stop=T0 + 9.5)
    attempts.add("merge-1", kind="reduction", name="merge", worker=chunk(1)["worker"], start=T0 + 9, stop=T0 + 9.25,
                 outcome="raised", exception="ValueError: no")
    chunks = [{**chunk(i), "task_key": f"Analysis-{i}"} for i in range(4)]
    text = report_html(Held(run_of(chunks, attempts=attempts)))
    (tasks,) = columns_with(models_of(text), "top", "bottom", "task")
    assert tasks["task"] == ["merge", "merge"] + ["before and after process()"] * 4
    width = numbers(tasks["end"]) - numbers(tasks["t"])
    assert np.allclose(width, [0.5, 0.25, *(chunk(i)["duration"] + 0.3 for i in range(4))], atol=1e-3)
    (inside,) = columns_with(models_of(text), "top", "bottom", "worker")
    assert np.allclose(numbers(inside["t"]) - numbers(tasks["t"])[2:], 0.1, atol=1e-3)
    assert list(numbers(inside["top"])) == list(numbers(tasks["top"])[2:])
    assert tasks["color"][1] != tasks["color"][0]
    page = Page(text)
    assert "table-task" in page.ids()


def test_a_graph_without_chunks():
    attempts = Attempts()
    attempts.add("sum-1", name="sum", worker="w", start=T0 + 1, stop=T0 + 2, nbytes=100)
    text = report_html(Held(run_of([], report=None, processor_name=None, attempts=attempts)))
    (tasks,) = columns_with(models_of(text), "top", "bottom", "task")
    assert tasks["task"] == ["sum"]
    assert "dask.compute()" in Page(text).text


def test_many_chunks_are_counted_in_cells():
    results = large()
    models = models_of(report_html(results))
    images = [numbers(image) for data in columns_with(models, "image") for image in data["image"]]
    density = next(image for image in images if image.shape == (100, 160))
    good = sum(chunk(i).get("error") is None for i in range(2000)) * 16
    assert density.sum() == good
    busy = [image for image in images if image.shape == (1, 300)]
    assert len(busy) == 100
    assert not columns_with(models, "top", "bottom", "worker")


def test_throughput_adds_up_to_the_bytes():
    text = report_html(usual(40))
    (data,) = columns_with(models_of(text), "rate")
    unit = re.search("Data read, ([GMk]?)bps", text)[1]
    steps = {"G": 1e9, "M": 1e6, "k": 1e3, "": 1}[unit]
    seconds = numbers(data["end"]) - numbers(data["t"])
    total = sum(chunk(i)["bytes_read"] for i in range(40))
    assert np.isclose((numbers(data["rate"]) * steps / 8 * seconds).sum(), total)


def test_outliers_are_named():
    text = report_html(usual())
    tables = Tables(text)
    took, _ = tables.column("table-outliers", "Took")
    slow = [i for i in range(200) if i % 50 == 20]
    assert sorted(took.values()) == sorted(chunk(i)["duration"] for i in slow)
    labels = [data["label"] for data in columns_with(models_of(text), "label")]
    assert labels and {label for one in labels for label in one} <= {f"{i % 12:03d}.root" for i in slow}


# ---- tables ----

def test_tables_add_up():
    tables = Tables(report_html(usual()))
    good = [chunk(i) for i in range(200) if "error" not in chunk(i)]
    for table, key in (("table-dataset", "dataset"), ("table-file", "file"), ("table-worker", "worker")):
        for heading, field in (("Time", "duration"), ("Events", "num_events"), ("Read", "bytes_read"),
                               ("Before", "before_process_s")):
            values, rest = tables.column(table, heading)
            assert rest is None
            expected = {name: sum(c[field] for c in good if c[key] == name) for name in {c[key] for c in good}}
            assert values == pytest.approx(expected), (table, heading)
        rates, _ = tables.column(table, "Event rate")
        assert rates == pytest.approx({
            name: sum(c["num_events"] for c in good if c[key] == name)
            / sum(c["duration"] for c in good if c[key] == name) for name in rates})
        failed, _ = tables.column(table, "Failed")
        assert sum(value or 0 for value in failed.values()) == 2
        chunks, _ = tables.column(table, "Chunks")
        assert sum(chunks.values()) == 200
    bytes_read, _ = tables.column("table-branch", "Read")
    everyone = sum(c["num_events"] for c in good)
    assert bytes_read == {"Jet_pt": everyone * 4, "Jet_eta": everyone * 3, "Jet_phi": everyone * 2}
    assert list(bytes_read) == ["Jet_pt", "Jet_eta", "Jet_phi"]
    own, _ = tables.column("table-section", "Of its own")
    assert own == pytest.approx({"select": sum(c["duration"] for c in good) / 4,
                                 "jets": sum(c["duration"] for c in good) / 4})
    used, _ = tables.column("table-file", "In the file")
    assert set(used.values()) == {90_000_000.0}
    memory, _ = tables.column("table-worker", "Worker memory")
    assert memory["tcp://10.0.0.3:40000"] == 1e9 + 3e8 + 1e7 * 29


def test_a_column_has_one_unit():
    for rows, _ in (found[1:] for found in Tables(report_html(large())).found.values()):
        for column in zip(*rows):
            units = {shown.rpartition(" ")[2] for shown, value in column if value and " " in shown}
            assert len(units) <= 1, column


def test_long_tables_end_with_the_others():
    results = large()
    values, rest = Tables(report_html(results)).column("table-file", "Events")
    codes = np.asarray(results.run.chunks.column("file.code"))
    events = np.asarray(results.run.chunks.column("num_events"))
    good = np.asarray(results.run.chunks.column("error.code")) < 0
    assert len(values) == 200
    assert sum(values.values()) + rest == events[good].sum()
    names = results.run.chunks.categories("file")
    for name in list(values)[:3]:
        assert values[name] == events[good & (codes == names.index(name))].sum()
    assert len(names) == 260


# ---- names are data ----

@pytest.fixture(scope="module")
def hostile():
    finding = {"severity": f"x{HOSTILE}", "title": HOSTILE, "evidence": {HOSTILE: HOSTILE}, "advice": [HOSTILE]}
    return report_html(usual(200, hostile=HOSTILE, diagnose=[finding]))


def test_names_add_no_elements(hostile, everything):
    plain, attacked = Page(everything), Page(hostile)
    assert attacked.tags() == plain.tags()
    assert len(attacked.scripts) == len(plain.scripts)
    for _, attrs in attacked.elements:
        assert not any(key.startswith("on") for key in attrs)


def test_names_are_shown_as_they_are(hostile):
    text = Page(hostile).text
    shown = HOSTILE.replace("\u2028", "\\u{2028}").replace("\u202e", "\\u{202e}").replace("\x07", "\\u{7}")
    for name in ("dataset 1", "select", "jets", "Jet_pt", "tcp://10.0.0.1:40000", "Analysis", "DaskExecutor"):
        assert f"{name}{shown}" in text, name
    assert f"{shown}.root" in text


def test_data_of_the_charts_cannot_end_its_element(hostile):
    data = Page(hostile).script("charts")
    assert "<" not in data and ">" not in data and "\u2028" not in data
    (bars,) = columns_with(models_of(hostile), "top", "bottom", "worker")
    assert bars["dataset"][1].startswith(f"dataset 1{HOSTILE[:20]}")


def test_names_are_no_formulas(hostile):
    models = models_of(hostile)
    assert "TeX" not in models and "MathML" not in models
    assert len(models["PlainText"]) == 4


# ---- notebook ----

def test_notebook():
    page = Page(summary_html(usual(50, hostile=HOSTILE)))
    assert "script" not in page.tags() and "img" not in page.tags()
    assert cards_of(summary_html(usual(50))) == CARDS
    assert any(text.startswith("something was not measured") for text in page.texts)
    shown = summary_html(usual(50))
    assert shown.count("<details") >= 5
    assert re.findall("<details open><summary>(.*?)</summary>", shown) == ["Findings", "Budget"]
    assert "nothing was collected yet" in summary_html(Held(None))


# ---- files and the command ----

def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a folder" / "run.html"
    assert save_report(usual(10), path) == path
    before = path.read_text(encoding="utf-8")
    assert before.startswith("<!DOCTYPE html>") and before.endswith("</html>\n")
    monkeypatch.setattr(report.os, "replace", lambda *args: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_report(usual(11), path)
    assert [one.name for one in path.parent.iterdir()] == ["run.html"]
    assert path.read_text(encoding="utf-8") == before


def test_command(tmp_path, capsys):
    from roastcoffea import _core

    _core.save_measurement(usual(30).run, tmp_path / "run 1")
    assert main(["report", str(tmp_path / "run 1")]) == 0
    made = tmp_path / "run 1.html"
    assert capsys.readouterr().out == f"{made}\n"
    assert charts_of(Page(made.read_text(encoding="utf-8"))) == CHARTS
    assert main(["report", str(tmp_path / "run 1"), "-o", str(tmp_path / "b" / "x.html")]) == 0
    assert (tmp_path / "b" / "x.html").stat().st_size > 500_000
    capsys.readouterr()
    assert main(["report", str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err


def test_bokeh_is_imported_on_use_only():
    code = "import sys, roastcoffea, roastcoffea.report; print([m for m in sys.modules if m.startswith('bokeh')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_row_of_the_rest_has_units_of_its_own():
    from roastcoffea.report._markup import Column, Row, table

    shown = table("files", [Column("File"), Column("Time", "s")], [Row(["a", 2.5]), Row(["b", 1.25])], Row(["998 more", 7.2e6]))
    assert re.findall(r"<td data-v=[^>]*>([^<]*)</td>", shown) == ["2.50 s", "1.25 s", "2,000 h"]
