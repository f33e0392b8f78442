"""The tables: their titles, their rows, what they show of what was not measured, and that rich shows what the
engine draws."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from leaks import assert_nothing_is_kept
from run_samples import full_run, mixed_log, sample_series
from samples import make_log

from roastcoffea import _core
from roastcoffea._core import Run, Summary
from roastcoffea.aggregation.core import MetricsAggregator
from roastcoffea.export import reporter

REPORT = {"entries": 1_000_000, "bytesread": 5_000_000_000, "processtime": 100.0, "chunks": 10}
WIDTHS = (40, 60, 80, 100, 120, 200)


def text_of(table, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def printed(source, width=80, full=True, **options):
    console = Console(file=io.StringIO(), width=width, **options)
    reporter.print_tables(source, console, full=full)
    return console.file.getvalue()


@pytest.fixture
def metrics():
    return MetricsAggregator("local").aggregate(
        REPORT, None, 0.0, 10.0, chunk_metrics=[{"duration": 0.0251, "num_events": 5}]
    )


TITLES = {
    "format_throughput_table": "Throughput Metrics",
    "format_event_processing_table": "Event Processing Metrics",
    "format_resources_table": "Resource Utilization",
    "format_timing_table": "Timing Breakdown",
    "format_fine_metrics_table": "Fine Metrics (from Dask Spans)",
    "format_chunk_metrics_table": "Chunk Metrics",
}


@pytest.mark.parametrize("name", [name for name in TITLES if "fine" not in name])
def test_titles_and_columns(name, metrics):
    table = getattr(reporter, name)(metrics)
    assert table.title == TITLES[name]
    assert [column.header for column in table.columns] == ["Metric", "Value"]
    assert table.row_count > 3
    assert TITLES[name] in text_of(table)


def test_rows(metrics):
    shown = text_of(reporter.format_throughput_table(metrics))
    assert "4.00 Gbps over wall time" in shown
    assert "5.00 GB" in shown
    events = text_of(reporter.format_event_processing_table(metrics))
    assert "1,000,000" in events
    assert "100 kHz over wall time" in events
    assert "25.1 ms" in text_of(reporter.format_chunk_metrics_table(metrics))
    # nobody looked at workers: a dash, not a zero
    resources = text_of(reporter.format_resources_table(metrics))
    assert resources.count(" -\n") == 5
    assert " 0" not in resources


def test_nothing_to_show():
    empty = MetricsAggregator("local").aggregate(None, None, 0.0, 1.0)
    for name in reporter.__all__:
        if name in TITLES and name not in ("format_fine_metrics_table", "format_chunk_metrics_table"):
            assert getattr(reporter, name)(empty) is not None
        elif name not in ("format_data_quality_table", "print_tables"):
            assert getattr(reporter, name)(empty) is None
    assert reporter.format_chunk_metrics_table({"num_successful_chunks": 0, "num_failed_chunks": 0}) is None
    assert "no Dask spans" in text_of(reporter.format_data_quality_table(empty))


@pytest.mark.parametrize("table,key,shown", [
    ("throughput", "data_rate_mbps", "Data Rate 7.00 MB/s"),
    ("throughput", "disk_read_bytes", "7 B read back"),
    ("event_processing", "event_rate_core_khz", "Event Rate per Core 7.00 kHz"),
    ("resources", "peak_workers", "Workers 7 at the peak"),
    ("resources", "cores_per_worker", "Cores 7 per worker"),
    ("resources", "peak_memory_bytes", "Memory per Worker 7 B at the peak"),
    ("resources", "core_efficiency", "Core Efficiency 700.0 % of wall time"),
    ("resources", "speedup_factor", "Speedup 7.00 ×"),
    ("timing", "num_chunks", "Time in process() (Coffea) 7 chunks"),
    ("timing", "avg_cpu_time_per_chunk", "7.00 s a chunk"),
    ("fine_metrics", "compression_time_seconds", "Compression 7.00 s out"),
    ("fine_metrics", "decompression_time_seconds", "Compression 7.00 s in"),
    ("chunk_metrics", "num_chunks", "Chunks 7"),
    ("chunk_metrics", "chunk_duration_mean", "Duration 7.00 s"),
    ("chunk_metrics", "chunk_events_min", "Events per Chunk 7"),
])
def test_a_key_alone_is_a_row(table, key, shown):
    text = text_of(getattr(reporter, f"format_{table}_table")({key: 7}))
    assert shown in " ".join(text.split())


def test_parts_that_belong_to_others_are_not_shown_alone():
    shown = text_of(reporter.format_throughput_table({"bytes_read_from_chunks": 7}))
    assert "7" not in shown
    assert "± 1.00 s" in text_of(reporter.format_chunk_metrics_table({"chunk_duration_std": 1.0}))
    assert reporter.format_chunk_metrics_table({"num_chunks": 0}) is None


def test_plain_mappings():
    """Metrics of any origin: other names, numbers of another type."""
    table = reporter.format_throughput_table({"overall_rate_gbps": 1, "total_bytes_read": 5e9})
    assert "1.00 Gbps" in text_of(table)
    assert "5.00 GB" in text_of(table)
    assert "1,234" in text_of(reporter.format_event_processing_table({"total_events": 1234.0}))
    assert " -\n" in text_of(reporter.format_timing_table({"wall_time": float("nan")}))
    with pytest.raises(TypeError, match="wall_time"):
        reporter.format_timing_table({"wall_time": "long"})
    with pytest.raises(TypeError, match="metrics"):
        reporter.format_timing_table([1])
    with pytest.raises(TypeError, match="sections"):
        reporter.format_timing_table({"sections": {"a": 3}})


def test_all_of_it(metrics):
    metrics["notes"] = ["a [bold]note[/bold] with brackets"]
    shown = printed(metrics)
    assert "Throughput Metrics" in shown
    assert "\nFine Metrics" not in shown
    assert "note: a [bold]note[/bold] with brackets" in shown
    assert max(map(len, shown.splitlines())) <= 80


# ---- letter by letter ----

def runs():
    decorated = Run(report=REPORT, t_start=0.0, t_end=12.5, chunks=make_log(40), meta={"executor": "x"})
    named = [
        {"duration": 0.5, "num_events": 7, "dataset": name, "file": f"root://host//{name}.root",
         "timing": {name: 0.25}, "reads": {name: {"seconds": 0.1, "bytes": 10, "count": 1}}}
        for name in ("漢字" * 30, "tt̄ → 2ℓ2ν " * 9, "[red]not red[/red]", "\x1b[31mred\x1b[0m", "a" * 300, ":smile:",
                     "\u202eback", "a\nb\tc", "é" * 50, "x", "y", "z")
    ]
    return {
        "full": full_run(),
        "real": decorated,
        "names": Run(report=REPORT, t_start=0.0, t_end=1.0, chunks=named, series=sample_series()),
        "empty": Run(),
    }


RUNS = runs()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", RUNS)
def test_rich_shows_what_the_engine_draws(name, width):
    run = RUNS[name]
    drawn = Summary(run).draw(width, full=True)
    assert printed(run, width) == drawn
    assert printed(run, width, force_terminal=True, color_system="truecolor") == (
        Summary(run).draw(width, color=True, full=True))
    assert printed(run, width, force_terminal=True, no_color=True, legacy_windows=False).count("─") == (
        drawn.count("─"))
    # a table by itself
    table = reporter.format_throughput_table(run.metrics())
    assert text_of(table, width) == Summary(run.metrics()).draw(width, table="throughput")
    assert all(not line.endswith(" ") for line in drawn.splitlines())


@pytest.mark.parametrize("name", RUNS)
def test_a_run_and_its_metrics_are_the_same(name):
    """But for what the engine finds in a run, and its texts; a name that was used for several sorts of sections has one entry in
    the metrics; and metrics alone have the efficiency among the resources, too, as in 0.1.x."""
    run, mapping = RUNS[name], RUNS[name].metrics()
    one, other = Summary(run).tables, Summary(mapping).tables
    for table, again in zip(one, other, strict=True):
        if table["id"] == "resources":
            assert again["rows"][: len(table["rows"])] == table["rows"]
            assert [label for label, _ in again["rows"][len(table["rows"]):]] <= ["Speedup", "Core Efficiency"]
        elif table["id"] not in ("findings", "budget", "memory_sections", "provenance"):
            assert table == again


def test_metrics_and_the_run_behind_them():
    twice = {"duration": 1.0, "num_events": 3, "measuring_s": 0.5, "memory_sections": [
        {"section_name": "x", "memory_start_gb": 0.1, "memory_end_gb": 0.2, "memory_delta_gb": 0.1}] * 2,
        "sections": [{"section_name": "x", "time_delta": 0.1, "start": 0.0, "depth": 0, "count": 1}]}
    run = Run(report=REPORT, t_start=0.0, t_end=10.0, chunks=[twice])
    both = Summary({**run.metrics(), "notes": ["n"]}, run)
    assert both.draw(80, full=True) == Summary(run).draw(80, full=True) + "\nnote: n\n"
    assert "Cost of Measuring" in both.draw(80, full=True)
    assert printed(run) == Summary(run.metrics(), run=run).draw(80, full=True)
    # one screen
    assert "More, and 1 note: print_summary(full=True)" in both.draw(80)
    assert printed(run, full=False) == Summary(run).draw(80)
    # numbers of the user's own stand instead
    assert "7.00 Gbps" in Summary({"data_rate_gbps": 7.0}, run).draw(80, table="throughput")
    for wrong in (3, {}):
        with pytest.raises(TypeError, match="run"):
            Summary({}, wrong)
    with pytest.raises(TypeError, match="run"):
        Summary(run, run)


def test_names_are_data():
    drawn = printed(RUNS["names"], 200, force_terminal=True, color_system="truecolor")
    assert "[red]not red[/red]" in drawn
    assert "\\x1b[31mred\\x1b[0m" in drawn
    assert "\x1b[31m" not in drawn
    assert ":smile:" in drawn
    assert "\\u202eback" in drawn
    assert "a\\nb\\tc" in drawn
    assert "aaa…" in drawn and "…a" not in drawn  # cut at the end


def test_a_table_that_was_changed_is_one_of_rich(metrics):
    table = reporter.format_throughput_table(metrics)
    table.add_row("mine", "[bold]7[/bold]")
    shown = text_of(table)
    assert "mine" in shown
    assert "Metric" in shown
    assert "4.00 Gbps" in shown


def test_in_a_notebook(metrics):
    html = Console(record=True, file=io.StringIO(), width=80)
    reporter.print_tables(metrics, html)
    assert "Throughput Metrics" in html.export_html()


def test_wrong_arguments():
    summary = Summary(RUNS["empty"])
    with pytest.raises(ValueError, match="nothing"):
        summary.draw(80, table="nothing")
    with pytest.raises(TypeError):
        summary.draw("wide")
    with pytest.raises(TypeError):
        Summary()
    with pytest.raises(TypeError):
        Summary(3)
    assert summary.notes == []
    assert Summary({"notes": ["a", "b", "a"]}).notes == ["a", "b"]


def test_no_leak():
    mapping = {**full_run().metrics(), "notes": ["a note"]}
    run = Run(report=REPORT, t_start=0.0, t_end=1.0, chunks=mixed_log(), series=sample_series())

    def use():
        for source in (mapping, run):
            summary = Summary(source)
            summary.draw(60), summary.draw(60, True, "chunks")
            summary.tables, summary.notes
        for wrong in ({"wall_time": "x"}, {"sections": 3}, {"per_dataset": {"a": {"num_chunks": "x"}}}, 3):
            with pytest.raises(TypeError):
                Summary(wrong)

    assert_nothing_is_kept(use, 100, megabytes=5)


def test_memory_runs_out():
    """At any moment: a MemoryError, nothing else."""
    mapping = {**full_run().metrics(), "notes": ["a note"]}
    failed = 0
    for after in range(0, 100_000, 11):
        _core._fail_allocations(after)
        try:
            Summary(mapping).draw(80)
            break
        except MemoryError:
            failed += 1
        finally:
            _core._fail_allocations(None)
    assert failed > 20
    assert Summary(mapping).draw(80)
