"""Which part may use which: the tables of the design, in one place.

A part may use itself and what stands before it in its list.
"""

# src/<layer>, from the bottom.
C_LAYERS = ["base", "proc", "model", "engines", "store", "metrics", "sql", "plot", "analyse", "render", "runs"]

# include/roast/<header>: the layer whose face it is.
PUBLIC_HEADERS = {
    "base.h": "base",
    "sink.h": "base",
    "text.h": "base",
    "redact.h": "base",
    "proc.h": "proc",
    "sampler.h": "proc",
    "chunklog.h": "model",
    "attempts.h": "model",
    "series.h": "model",
    "points.h": "model",
    "figures.h": "model",
    "treelog.h": "model",
    "ending.h": "model",
    "run.h": "model",
    "columns.h": "model",
    "keys.h": "model",
    "taskvine.h": "engines",
    "store.h": "store",
    "lanes.h": "plot",
    "spread.h": "plot",
    "tasks.h": "plot",
    "sql.h": "sql",
    "legacy.h": "store",
    "metrics.h": "metrics",
    "budget.h": "analyse",
    "diagnose.h": "analyse",
    "failures.h": "analyse",
    "advise.h": "analyse",
    "what_if.h": "analyse",
    "progress.h": "metrics",
    "tally.h": "metrics",
    "format.h": "metrics",
    "json.h": "render",
    "export.h": "render",
    "grid.h": "render",
    "summary.h": "render",
    "advice_text.h": "render",
    "what_if_tables.h": "render",
    "measurement.h": "render",
    "found.h": "runs",
}

# Folders inside a part, from the bottom: a folder may use itself and those before it. Files beside the folders (the
# module file of ext, store.c) use all of them; the headers beside them (state.h) are for everybody.
ROOMS = {
    "ext": ["common", "records", "worker", "scheduler", "run", "show"],
    "src/analyse": ["statistics", "budget", "diagnose", "failures", "what_if", "advise"],
    "src/store": ["database", "place", "write", "read", "legacy"],
}

# python/roastcoffea/<package or module>, from the bottom; those of one row may not use each other. A module inside a
# package has a row where it stands higher than its package.
PYTHON_LAYERS = [
    ["_core"],
    ["common"],
    ["utils", "instrumentation", "decorator", "worker"],
    ["aggregation"],
    ["backends"],
    ["export"],
    ["visualization"],
    ["report", "runs"],
    ["advice", "comparison", "what_if"],
    ["coffea"],
    ["collector"],
    ["scaling_runs", "trend_runs"],
    ["web"],
    ["backends.dask.page"],
    ["preload"],
    ["__init__"],
    ["verbs"],
    ["__main__"],
]
