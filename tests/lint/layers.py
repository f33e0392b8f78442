"""Which part may use which: the tables of the design, in one place.

A part may use itself and what stands before it in its list.
"""

# src/<layer>, from the bottom.
C_LAYERS = ["base", "proc", "model", "store", "metrics", "analyse", "render"]

# include/roast/<header>: the layer whose face it is.
PUBLIC_HEADERS = {
    "base.h": "base",
    "sink.h": "base",
    "text.h": "base",
    "proc.h": "proc",
    "proctree.h": "proc",
    "sampler.h": "proc",
    "chunklog.h": "model",
    "series.h": "model",
    "run.h": "model",
    "columns.h": "model",
    "metrics.h": "metrics",
    "render.h": "render",
}

# python/roastcoffea/<module or package>, from the bottom; those of one row may not use each other.
PYTHON_LAYERS = [
    ["_core"],
    ["utils", "instrumentation", "decorator", "channel"],
    ["aggregation"],
    ["backends"],
    ["export"],
    ["visualization"],
    ["runner_watch"],
    ["collector"],
    ["__init__"],
]
