"""The records of one chunk on their way."""

from __future__ import annotations

import pickle
from time import perf_counter
from typing import Any

from bench.work.chunks import KEY, make_outputs

USES = 200
ROUNDS = 40


def _there_and_back(thing: Any) -> float:
    start = perf_counter()
    for _ in range(USES):
        pickle.loads(pickle.dumps(thing, pickle.HIGHEST_PROTOCOL))
    return (perf_counter() - start) / USES


def one_chunk(branches: int) -> dict[str, Any]:
    records = make_outputs(1, branches)[0][KEY]
    size = len(pickle.dumps(records, pickle.HIGHEST_PROTOCOL))
    payload = bytes(size)
    return {"bytes": size, "seconds": [_there_and_back(records) for _ in range(ROUNDS)],
            "floor": [_there_and_back(payload) for _ in range(ROUNDS)]}
