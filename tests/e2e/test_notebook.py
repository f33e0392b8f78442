"""What a user sees below the cells of a notebook, from a real kernel."""

from __future__ import annotations

import pytest
from notebooks import pictures, run_cells

SETUP = """
import time, warnings
warnings.filterwarnings("ignore")
from coffea import processor
from coffea.nanoevents import NanoAODSchema
from IPython.display import DisplayHandle
from roastcoffea import MetricsCollector, track_metrics
import roastcoffea

fileset = {fileset!r}
updates, update = [], DisplayHandle.update

def counted(self, *args, **options):
    update(self, *args, **options)
    updates.append(args)

DisplayHandle.update = counted


class Analysis(processor.ProcessorABC):
    fails = False

    @track_metrics
    def process(self, events):
        # until the line has been updated once more
        before, until = len(updates), time.monotonic() + 10
        while len(updates) == before and time.monotonic() < until:
            time.sleep(0.01)
        if self.fails and events.metadata["entrystart"] > 0:
            raise ValueError("by design")
        return {{"events": len(events)}}

    def postprocess(self, accumulator):
        return accumulator

executor = processor.IterativeExecutor(status=False)
runner = processor.Runner(executor=executor, schema=NanoAODSchema, chunksize=600)
"""

RUN = """
with MetricsCollector(executor, live=True) as mc:
    runner(fileset, processor_instance=Analysis())
"""

FAILING = """
Analysis.fails = True
try:
    with MetricsCollector(executor, live=True) as failed:
        runner(fileset, processor_instance=Analysis())
except Exception:
    pass
"""


@pytest.fixture(scope="module")
def shown(fileset, tmp_path_factory):
    """The outputs of a notebook, by the name of the cell."""
    plot = "fig, ax = roastcoffea.plot_runtime_distribution(mc.chunk_metrics)\n"
    cells = {
        "setup": SETUP.format(fileset={"ttbar": fileset["ttbar"]}),
        "run": RUN,
        "failing": FAILING,
        "no terminal": "with MetricsCollector(executor) as silent:\n    pass",
        "view": "mc",
        "chunks": "mc.run.chunks",
        "samples": "mc.run.samples",
        "plot alone": "roastcoffea.plot_runtime_distribution(mc.chunk_metrics)",
        "plot kept": plot,
        "plot and figure": plot + "fig",
        "plot and display": plot + "display(fig)",
        "plot and show": "import matplotlib.pyplot as plt\n" + plot + "plt.show()",
        "two plots": plot + plot + "ax.set_title('Second')",
        "figure again": "fig",
    }
    return dict(zip(cells, run_cells(*cells.values(), folder=tmp_path_factory.mktemp("notebook"))))


def line_of(cell):
    """The texts of the live line, one after the other, and what is left of it in the saved notebook."""
    outputs, messages = cell
    ours = {}
    for message in messages:
        name = message["content"].get("transient", {}).get("display_id")
        text = message["content"].get("data", {}).get("text/plain")
        if name is not None and message["msg_type"] in ("display_data", "update_display_data"):
            ours.setdefault(name, []).append((message["msg_type"], text))
    (texts,) = ours.values()
    assert [kind for kind, _ in texts] == ["display_data"] + ["update_display_data"] * (len(texts) - 1)
    left = [output["data"]["text/plain"] for output in outputs if output["output_type"] == "display_data"]
    assert left.count(texts[-1][1]) == 1
    assert not any(text in left for _, text in texts[:-1] if text and text != texts[-1][1])
    return [text for _, text in texts]


def test_the_live_line_is_one_output_that_changes(shown):
    texts = line_of(shown["run"])
    assert len(texts) > 4
    assert any(text.startswith("1 of 4 chunks") for text in texts)
    assert texts[-1].startswith("Done: 4 of 4 chunks · ")
    assert not [output for output in shown["run"][0] if output["output_type"] == "stream"]


def test_the_live_line_says_how_it_failed(shown):
    assert line_of(shown["failing"])[-1].startswith("Failed: 1 of 4 chunks done; ValueError: by design (ttbar, ")


def test_without_live_there_is_no_line(shown):
    assert shown["no terminal"][0] == []


@pytest.mark.parametrize(
    ("cell", "drawn"),
    [("plot alone", 1), ("plot kept", 1), ("plot and figure", 1), ("plot and display", 1), ("plot and show", 1),
     ("two plots", 2), ("figure again", 1)],
)
def test_a_plot_is_drawn_once(shown, cell, drawn):
    outputs, _ = shown[cell]
    assert len(pictures(outputs)) == drawn


def test_what_a_cell_shows_is_html(shown):
    for cell, word in (("view", "Done: 4 of 4 chunks"), ("chunks", "num_events"), ("samples", "memory")):
        (output,) = shown[cell][0]
        assert word in output["data"]["text/html"], cell
        assert len(output["data"]["text/plain"].splitlines()) < 30, cell
