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
    "attempts.h": "model",
    "series.h": "model",
    "points.h": "model",
    "treelog.h": "model",
    "run.h": "model",
    "columns.h": "model",
    "store.h": "store",
    "lanes.h": "store",
    "sql.h": "store",
    "legacy.h": "store",
    "metrics.h": "metrics",
    "budget.h": "analyse",
    "diagnose.h": "analyse",
    "failures.h": "analyse",
    "bins.h": "metrics",
    "timeline.h": "metrics",
    "top.h": "metrics",
    "outliers.h": "metrics",
    "progress.h": "metrics",
    "render.h": "render",
    "json.h": "render",
    "export.h": "render",
    "grid.h": "render",
    "summary.h": "render",
    "measurement.h": "render",
}

# python/roastcoffea/<module or package>, from the bottom; those of one row may not use each other.
PYTHON_LAYERS = [
    ["_core"],
    ["guard", "marks", "closures", "identity"],
    ["utils", "instrumentation", "decorator", "channel", "provenance", "checkpoints"],
    ["aggregation"],
    ["backends"],
    ["export"],
    ["visualization", "report"],
    ["preprocess_watch", "progress"],
    ["runner_watch", "results", "live"],
    ["collector"],
    ["__init__"],
    ["__main__"],
]
