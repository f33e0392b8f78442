"""Files of every kind that Coffea reads: NanoAOD-like, jagged, in several formats and compressions."""

from __future__ import annotations

import awkward as ak
import numpy as np
import uproot


def nano_columns(events, seed, flat=40):
    """Columns by their names in the file; the jagged ones with their counters."""
    rng = np.random.default_rng(seed)
    columns = {
        "run": np.ones(events, "u4"),
        "luminosityBlock": np.ones(events, "u4"),
        "event": np.arange(events, dtype="u8"),
    }
    kinds = {"Jet": (4, ("pt", "eta", "phi", "mass"))}
    kinds["Muon"] = (1.5, (*kinds["Jet"][1], "charge"))  # Coffea wants the charge
    for collection, (mean, names) in kinds.items():
        counts = rng.poisson(mean, events)
        columns[f"n{collection}"] = counts.astype("i4")
        for name in names:
            values = rng.exponential(40, counts.sum()).astype("f4").round(1)
            columns[f"{collection}_{name}"] = ak.unflatten(values, counts)
    columns |= {f"Flag_{i}": (rng.random(events) < 0.3).astype("f4") for i in range(flat)}
    return columns


def write_ttree(path, columns, compression=None, step=None):
    """A TTree with one basket a branch for each `step` events."""
    events = len(columns["event"])
    step = step or events
    grouped = {name: array for name, array in columns.items() if not isinstance(array, ak.Array)}
    for collection in ("Jet", "Muon"):
        prefix = f"{collection}_"
        del grouped[f"n{collection}"]  # uproot writes the counter by itself
        grouped[collection] = ak.zip(
            {n.removeprefix(prefix): a for n, a in columns.items() if n.startswith(prefix)}
        )
    types = {n: a.type.content if isinstance(a, ak.Array) else a.dtype for n, a in grouped.items()}
    with uproot.recreate(path, compression=compression) as file:
        tree = file.mktree("Events", types)
        for start in range(0, events, step):
            tree.extend({name: array[start : start + step] for name, array in grouped.items()})
    return str(path)


def write_rntuple(path, columns, compression=None):
    with uproot.recreate(path, compression=compression) as file:
        file.mkrntuple("Events", columns)
    return str(path)


def write_parquet(path, columns, rows=None):
    """Plain lists, as other writers make them; `rows` events a row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {
        name: ak.to_arrow(array, extensionarray=False, list_to32=True)
        if isinstance(array, ak.Array)
        else pa.array(array)
        for name, array in columns.items()
    }
    pq.write_table(pa.table(arrays), path, row_group_size=rows)
    return str(path)


def write_projected(path, columns, compression=None):
    """An RNTuple as ROOT's importer makes it of a NanoAOD: the columns of Muon stand in the untitled collection
    "_collection0"; "nMuon" and "Muon_pt" are projected fields, which only refer to them. uproot writes no projected
    fields, so that its list of fields is extended here."""
    from uproot.const import RNTupleFieldFlags, RNTupleFieldRole
    from uproot.writing import _cascadentuple as writing

    class Projected(writing.NTuple_Field_Description):
        def __init__(self, parent, role, name, kind, source):
            super().__init__(parent, role, name, kind, flags=RNTupleFieldFlags.PROJECTED)
            self.source = source

        def serialize(self):
            return super().serialize() + self.source.to_bytes(4, "little")

    muon = {name: array for name, array in columns.items() if name.startswith("Muon_")}
    plain = {name: array for name, array in columns.items() if name not in muon and name != "nMuon"}
    plain["_collection0"] = ak.zip(muon)

    class Header(writing.NTuple_Header):
        def generate_field_col_records(self):
            super().generate_field_col_records()
            fields = self._field_records
            at = {field.field_name: i for i, field in enumerate(fields)}
            around = at["_collection0"]
            fields.append(Projected(len(fields), RNTupleFieldRole.LEAF, "nMuon",
                                    "ROOT::RNTupleCardinality<std::uint32_t>", around))
            for name in muon:
                fields.append(Projected(len(fields), RNTupleFieldRole.COLLECTION, name, "std::vector<float>", around))
                fields.append(Projected(len(fields) - 1, RNTupleFieldRole.LEAF, "_0", "float", at[name]))

    original, writing.NTuple_Header = writing.NTuple_Header, Header
    try:
        return write_rntuple(path, plain, compression)
    finally:
        writing.NTuple_Header = original
