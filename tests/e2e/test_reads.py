"""What a chunk read, on real files through real Coffea, against what uproot and pyarrow say by themselves."""

from __future__ import annotations

import awkward as ak
import numpy as np
import pytest
import uproot
from coffea import processor
from coffea.nanoevents import NanoAODSchema, NanoEventsFactory
from files import nano_columns, write_parquet, write_projected, write_rntuple, write_ttree

from roastcoffea import MetricsCollector, track_metrics
from roastcoffea._core import Run, faults

KEY = "__roastcoffea_metrics__"
COMPRESSIONS = {
    "zlib": uproot.ZLIB(4),
    "lz4": uproot.LZ4(4),
    "zstd": uproot.ZSTD(5),
    "none": None,
}
# what Analysis touches, in this order
ACCESSED = ["nJet", "Jet_pt", "event", "nMuon", "Muon_eta"]


@pytest.fixture(autouse=True)
def no_faults():
    before = faults()["count"]
    yield
    assert faults()["count"] == before, faults()


class Analysis(processor.ProcessorABC):
    """Touches a few columns, and counts the requests by itself."""

    _roastcoffea_collect_metrics = True

    def analyse(self, events):
        assert ak.sum(events.Jet.pt > 30) >= 0
        assert ak.sum(events.event) >= 0
        return float(ak.sum(events.Muon.eta))

    @track_metrics
    def process(self, events):
        handle = events.attrs["@events_factory"].file_handle
        source = getattr(getattr(handle, "file", None), "source", None)
        before = getattr(source, "num_requested_bytes", None)
        self.analyse(events)
        if source is not None:
            current = self._roastcoffea_current_chunk
            current["own_before"] = before
            current["own_after"] = source.num_requested_bytes
            current["own_requests"] = source.num_requests
        return {"events": len(events)}

    def postprocess(self, accumulator):
        return accumulator


def run(files, analysis=None, chunksize=340, executor=None, format="root", **dataset):
    runner = processor.Runner(
        executor=executor or processor.IterativeExecutor(status=False),
        schema=NanoAODSchema, chunksize=chunksize, savemetrics=True, format=format,
    )
    fileset = {"data": {"files": dict.fromkeys(files, "Events"), **dataset}}
    return runner(fileset, processor_instance=analysis or Analysis())


def basket_bytes(branch, start, stop):
    """Bytes of the baskets that hold any of these entries, from the tree's own lists."""
    offsets = branch.entry_offsets
    return sum(
        branch.basket_compressed_bytes(i)
        for i, (first, last) in enumerate(zip(offsets, offsets[1:]))
        if start < last and first < stop
    )


def check_totals(chunks, report):
    """What holds for every ROOT file."""
    assert sum(c["bytes_read"] for c in chunks) == report["bytesread"]
    for chunk in chunks:
        assert chunk["accessed_branches"] == ACCESSED
        assert list(chunk["reads"]) == ACCESSED
        assert chunk["metadata_bytes"] == chunk["own_before"]
        assert chunk["bytes_read"] == chunk["own_after"]
        assert chunk["read_requests"] == chunk["own_requests"]
        payload = chunk["own_after"] - chunk["own_before"]
        assert sum(read["bytes"] for read in chunk["reads"].values()) == payload > 0
        assert all(read["count"] == 1 for read in chunk["reads"].values())
        assert all(read["seconds"] > 0 for read in chunk["reads"].values())
        assert sum(read["seconds"] for read in chunk["reads"].values()) < chunk["duration"]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_ttree(tmp_path, compression):
    path = write_ttree(
        tmp_path / "nano.root", nano_columns(1000, seed=1), COMPRESSIONS[compression], step=300
    )
    output, report = run([path])
    chunks = output[KEY]
    assert len(chunks) == report["chunks"] == 3
    check_totals(chunks, report)
    with uproot.open({path: "Events"}) as tree:
        assert tree["Jet_pt"].num_baskets == 4
        for chunk in chunks:
            start, stop = chunk["entry_start"], chunk["entry_stop"]
            for name, read in chunk["reads"].items():
                array = tree[name].array(entry_start=start, entry_stop=stop)
                assert read["bytes"] == basket_bytes(tree[name], start, stop)
                # offsets are of 8 bytes in Coffea
                offsets = 8 * (stop - start + 1) if array.ndim == 2 else 0
                assert read["uncompressed_bytes"] == offsets + ak.flatten(array, axis=None).nbytes
            assert chunk["accessed_bytes"] == sum(tree[n].compressed_bytes for n in ACCESSED)
            assert chunk["accessed_uncompressed_bytes"] == sum(
                tree[n].uncompressed_bytes for n in ACCESSED
            )
            assert chunk["branches_read_percent"] == pytest.approx(
                100 * len(ACCESSED) / len(tree.keys())
            )
            assert chunk["bytes_read_percent"] == pytest.approx(
                100 * chunk["accessed_bytes"] / tree.compressed_bytes
            )
        assert chunks[0]["file_metadata"] == {
            "filename": path,
            "compression_ratio": pytest.approx(tree.compressed_bytes / tree.uncompressed_bytes),
            "total_branches": len(tree.keys()),
            "total_tree_bytes": tree.compressed_bytes,
            "branch_bytes": {name: branch.compressed_bytes for name, branch in tree.items()},
        }


def rntuple_sizes(tree):
    """{name: (compressed, uncompressed)} of the top fields, page by page."""
    top = list(range(len(tree.field_records)))
    for i, record in enumerate(tree.field_records):
        if record.parent_field_id != i:
            top[i] = top[record.parent_field_id]
    sizes = {}
    for cluster in tree.page_link_list:
        for column, pages in zip(tree.column_records, cluster):
            name = tree.field_records[top[column.field_id]].field_name
            small, large = sizes.get(name, (0, 0))
            for page in pages.pages:
                small += page.locator.num_bytes
                large += -(-page.num_elements * column.nbits // 8)
            sizes[name] = small, large
    return sizes


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_rntuple(tmp_path, compression):
    path = write_rntuple(
        tmp_path / "nano.root", nano_columns(1000, seed=2), COMPRESSIONS[compression]
    )
    output, report = run([path])
    chunks = output[KEY]
    assert len(chunks) == report["chunks"] == 3
    check_totals(chunks, report)
    with uproot.open({path: "Events"}) as tree:
        sizes = rntuple_sizes(tree)
        assert set(sizes) == set(tree.keys())
        for chunk in chunks:
            for name, read in chunk["reads"].items():
                # one cluster: every chunk reads all pages of the column
                assert read["bytes"] == sizes[name][0]
                assert read["uncompressed_bytes"] > 0
            assert chunk["accessed_bytes"] == sum(sizes[n][0] for n in ACCESSED)
            assert chunk["accessed_uncompressed_bytes"] == sum(sizes[n][1] for n in ACCESSED)
        about = chunks[0]["file_metadata"]
        assert about["total_branches"] == len(tree.keys())
        assert about["branch_bytes"] == {name: small for name, (small, _) in sizes.items()}
        assert about["total_tree_bytes"] == sum(small for small, _ in sizes.values())
        assert about["compression_ratio"] == pytest.approx(
            about["total_tree_bytes"] / sum(large for _, large in sizes.values())
        )


def test_rntuple_with_records(tmp_path):
    """Who reads a record reads all its fields; each column counts once."""
    from coffea.nanoevents import BaseSchema

    columns = {
        "event": np.arange(500, dtype="u8"),
        "Jet": ak.Array([[{"pt": 1.5 * i, "eta": 2.5}] * (i % 3) for i in range(500)]),
    }
    path = tmp_path / "records.root"
    with uproot.recreate(path) as file:
        file.mkrntuple("Events", columns)
    log = []
    with uproot.open(path) as file:
        tree = file["Events"]
        assert {"Jet", "Jet.pt", "Jet.eta"} <= set(tree.keys())
        events = NanoEventsFactory.from_root(
            file, treepath="Events", schemaclass=BaseSchema, access_log=log,
            metadata={"filename": str(path), "fileuuid": str(file.file.uuid)},
        ).events()

        @track_metrics
        def process(events):
            return {"sum": ak.sum(events["Jet"].pt, axis=None), "n": ak.sum(events.event)}

        process._roastcoffea_collect_metrics = True
        (chunk,) = process(events)[KEY]
        sizes = rntuple_sizes(tree)
        assert set(chunk["accessed_branches"]) == {access.branch for access in log}
        assert "Jet" in chunk["accessed_branches"]
        assert chunk["accessed_bytes"] == sum(small for small, _ in sizes.values())
        about = chunk["file_metadata"]
        assert set(about["branch_bytes"]) == set(tree.keys())
        assert about["branch_bytes"].pop("Jet") is None  # it has the columns of its fields, and one of its own
        assert 0 < sum(about["branch_bytes"].values()) < about["total_tree_bytes"]
        assert about["total_tree_bytes"] == chunk["accessed_bytes"]
        metrics = Run(chunks=[chunk]).metrics()
        assert metrics["file_read_metrics"][str(path)]["bytes_read"] == chunk["accessed_bytes"]


def test_rntuple_with_projected_fields(tmp_path):
    """A projected field has the bytes of the columns that it stands for; columns that several fields share count
    once."""
    path = write_projected(tmp_path / "nano.root", nano_columns(1000, seed=2), uproot.ZSTD(5))

    class Muons(Analysis):
        _roastcoffea_collect_metrics = False

        def analyse(self, events):
            return float(ak.sum(events.Muon.pt + events.Muon.eta))

        @track_metrics
        def process(self, events):
            return {"sum": self.analyse(events)}

    with MetricsCollector(processor.IterativeExecutor(status=False)) as mc:
        run([path], Muons())
    with uproot.open({path: "Events"}) as tree:
        name_of = {field.field_id: field.path for field in tree.all_fields}
        sizes = {}  # of columns by the field that they are stored for
        for cluster in tree.page_link_list:
            for column, pages in zip(tree.column_records, cluster):
                name = name_of[column.field_id]
                sizes[name] = sizes.get(name, 0) + sum(page.locator.num_bytes for page in pages.pages)
        keys = set(tree.keys())
    total = sum(sizes.values())
    read = sizes["_collection0"] + sizes["_collection0.Muon_pt"] + sizes["_collection0.Muon_eta"]
    assert 0 < read < total
    assert len(mc.chunk_metrics) == 3
    for chunk in mc.chunk_metrics:
        assert chunk["accessed_branches"] == ["nMuon", "Muon_pt", "Muon_eta"]
        assert chunk["accessed_bytes"] == read
        assert chunk["bytes_read_percent"] == pytest.approx(100 * read / total)
    about = mc.chunk_metrics[0]["file_metadata"]
    assert set(about["branch_bytes"]) == keys
    assert about["branch_bytes"]["Muon_pt"] is None
    assert about["branch_bytes"]["_collection0.Muon_pt"] == sizes["_collection0.Muon_pt"]
    row = mc.get_metrics()["file_read_metrics"][path]
    assert (row["bytes_read"], row["total_tree_bytes"]) == (read, total)
    assert mc.get_metrics()["avg_bytes_read_percent"] == pytest.approx(100 * read / total)


def test_projected_fields_that_no_chunk_read_together(tmp_path):
    """How much of the file they are is not known then; it is not 0."""
    path = write_projected(tmp_path / "nano.root", nano_columns(1000, seed=2))

    class Alternating(processor.ProcessorABC):
        @track_metrics
        def process(self, events):
            first = events.metadata["entrystart"] == 0
            return {"sum": float(ak.sum(events.Muon.pt if first else events.Muon.eta))}

        def postprocess(self, accumulator):
            return accumulator

    with MetricsCollector(processor.IterativeExecutor(status=False)) as mc:
        run([path], Alternating())
    assert len({tuple(chunk["accessed_branches"]) for chunk in mc.chunk_metrics}) == 2
    assert all(chunk["accessed_bytes"] > 0 for chunk in mc.chunk_metrics)
    assert mc.get_metrics()["file_read_metrics"][path]["bytes_read"] is None
    assert mc.get_metrics()["avg_bytes_read_percent"] is None


@pytest.mark.parametrize("rows", [None, 250])
def test_parquet(tmp_path, rows):
    pq = pytest.importorskip("pyarrow.parquet")
    path = write_parquet(tmp_path / "nano.parquet", nano_columns(1000, seed=3), rows)
    output, report = run([path], format="parquet", chunksize=250)
    chunks = output[KEY]
    assert len(chunks) == report["chunks"] == 4
    assert "bytesread" not in report
    metadata = pq.ParquetFile(path).metadata
    sizes = {}
    for group in range(metadata.num_row_groups):
        for i in range(metadata.num_columns):
            column = metadata.row_group(group).column(i)
            small, large = sizes.get(column.path_in_schema.split(".")[0], (0, 0))
            sizes[column.path_in_schema.split(".")[0]] = (
                small + column.total_compressed_size, large + column.total_uncompressed_size,
            )
    for chunk in chunks:
        assert chunk["accessed_branches"] == list(chunk["reads"]) == ACCESSED
        # pyarrow does not tell how much it read
        assert chunk["bytes_read"] is chunk["metadata_bytes"] is chunk["read_requests"] is None
        for read in chunk["reads"].values():
            assert read["bytes"] is None
            assert read["seconds"] > 0
            assert read["count"] == 1
        assert chunk["reads"]["event"]["uncompressed_bytes"] == 8 * chunk["num_events"]
        assert chunk["accessed_bytes"] == sum(sizes[n][0] for n in ACCESSED)
        assert chunk["accessed_uncompressed_bytes"] == sum(sizes[n][1] for n in ACCESSED)
    about = chunks[0]["file_metadata"]
    assert about["branch_bytes"] == {name: small for name, (small, _) in sizes.items()}
    assert about["total_branches"] == len(sizes) == 54
    assert about["total_tree_bytes"] == sum(small for small, _ in sizes.values())


def test_a_parquet_file_that_was_written_anew(tmp_path):
    """Coffea's uuid of a Parquet file is made of its name: the sizes must not be the old ones."""
    pytest.importorskip("pyarrow")
    totals = []
    for events in (200, 300):
        path = write_parquet(tmp_path / "again.parquet", nano_columns(events, seed=3))
        output, _ = run([path], format="parquet")
        totals.append(output[KEY][0]["file_metadata"]["total_tree_bytes"])
    assert totals[0] < totals[1]


@pytest.mark.parametrize("write", [write_ttree, write_rntuple])
def test_looking_requests_nothing(tmp_path, write):
    path = write(tmp_path / "nano.root", nano_columns(600, seed=4))

    class Off(Analysis):
        _roastcoffea_collect_metrics = False

        @track_metrics
        def process(self, events):
            self.analyse(events)
            return {"events": len(events)}

    class Idle(Analysis):
        @track_metrics
        def process(self, events):
            return {"events": len(events)}

    _, plain = run([path], Off())
    _, report = run([path])
    assert report["bytesread"] == plain["bytesread"]
    assert report["columns"] and set(report["columns"]) == set(plain["columns"])
    idle, _ = run([path], Idle())
    for chunk in idle[KEY]:
        assert chunk["accessed_branches"] == []
        assert chunk["reads"] == {}
        assert chunk["accessed_bytes"] == 0
        assert chunk["bytes_read"] == chunk["metadata_bytes"]
        # it was told of in the run before
        assert "file_metadata" not in chunk


def test_preloaded_columns(tmp_path):
    path = write_ttree(tmp_path / "nano.root", nano_columns(1000, seed=5), uproot.ZLIB(1), step=300)
    plain, _ = run([path])
    output, report = run([path], preload=["Jet_pt", "nJet", "Flag_3"])
    assert sum(c["bytes_read"] for c in output[KEY]) == report["bytesread"]
    with uproot.open({path: "Events"}) as tree:
        for chunk, other in zip(output[KEY], plain[KEY], strict=True):
            start, stop = chunk["entry_start"], chunk["entry_stop"]
            preloaded = sum(
                basket_bytes(tree[n], start, stop) for n in ("Jet_pt", "nJet", "Flag_3")
            )
            # as without preloading; and what was not used is nobody's read
            assert chunk["metadata_bytes"] == other["metadata_bytes"]
            assert chunk["metadata_bytes"] == chunk["own_before"] - preloaded
            assert chunk["accessed_branches"] == ACCESSED
            for name in ("Jet_pt", "nJet"):
                read = chunk["reads"][name]
                assert read["bytes"] is None
                assert read["uncompressed_bytes"] is None
                assert read["count"] == 1
            assert sum(read["bytes"] or 0 for read in chunk["reads"].values()) == (
                chunk["own_after"] - chunk["own_before"]
            )
            assert chunk["reads"]["event"] == other["reads"]["event"] | {
                "seconds": chunk["reads"]["event"]["seconds"]
            }


def test_preloading_an_rntuple_cannot_be_told_from_metadata(tmp_path):
    path = write_rntuple(tmp_path / "nano.root", nano_columns(600, seed=5))
    output, _ = run([path], preload=["Jet_pt", "nJet"])
    for chunk in output[KEY]:
        assert chunk["metadata_bytes"] is None
        assert chunk["bytes_read"] == chunk["own_after"]
        assert chunk["reads"]["Jet_pt"]["bytes"] is None
        assert chunk["reads"]["event"]["bytes"] > 0


def events_of(path, mode="virtual", first=0, last=None, **options):
    """Events as the Runner makes them, and the factory behind them."""
    file = uproot.open({str(path): None})
    factory = NanoEventsFactory.from_root(
        file, treepath="Events", schemaclass=NanoAODSchema, mode=mode, entry_start=first,
        entry_stop=last,
        metadata={
            "dataset": "data", "filename": str(path), "treename": "Events",
            "entrystart": first, "entrystop": last, "fileuuid": str(file.file.uuid),
        },
        **options,
    )
    return factory.events(), factory


class Plain:
    _roastcoffea_collect_metrics = True

    def __init__(self, body):
        self.body = body

    @track_metrics
    def process(self, events):
        return self.body(events) or {}


def one_chunk(body, events, topic=None):
    processor_instance = Plain(body)
    if topic is not None:
        processor_instance._roastcoffea_topic = topic
    (chunk,) = processor_instance.process(events)[KEY]
    return chunk


@pytest.fixture(scope="module")
def nano(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reads")
    return write_ttree(folder / "nano.root", nano_columns(900, seed=6), uproot.LZ4(1), step=200)


def test_a_chunk_that_raises_in_the_middle(nano):
    events, factory = events_of(nano, access_log=[])

    class Raises(Analysis):
        @track_metrics
        def process(self, events):
            ak.sum(events.Jet.pt)
            raise ValueError("bad luck")

    analysis = Raises()
    with pytest.raises(ValueError, match="bad luck"):
        analysis.process(events)
    (chunk,) = analysis._chunk_metrics
    assert chunk["error"] == "ValueError: bad luck"
    assert chunk["accessed_branches"] == list(chunk["reads"]) == ["nJet", "Jet_pt"]
    assert chunk["bytes_read"] - chunk["metadata_bytes"] == sum(
        read["bytes"] for read in chunk["reads"].values()
    )
    assert "extract_column" not in vars(factory._mapping)
    assert "file_metadata" in chunk
    # that record may be lost: the next one tells of the file again
    again, _ = events_of(nano, access_log=[])
    assert "file_metadata" in one_chunk(len_only, again)


def len_only(events):
    return {"n": len(events)}


def test_nothing_is_noted_after_process(nano):
    events, factory = events_of(nano, access_log=[])
    kept = []

    def body(events):
        ak.sum(events.event)
        kept.append(events.Muon.phi)

    chunk = one_chunk(body, events)
    assert ak.sum(kept[0]) > 0
    assert factory.access_log[-1].branch == "Muon_phi"
    assert list(chunk["reads"]) == ["event", "nMuon"]
    assert "extract_column" not in vars(factory._mapping)


def test_columns_that_were_touched_before_process(nano):
    events, factory = events_of(nano, access_log=[])
    ak.sum(events.Jet.mass)
    ak.sum(events.run)
    requested = factory.file_handle.file.source.num_requested_bytes

    def body(events):
        ak.sum(events.Jet.mass + events.Jet.eta)

    chunk = one_chunk(body, events)
    assert chunk["accessed_branches"] == list(chunk["reads"]) == ["Jet_eta"]
    assert chunk["metadata_bytes"] == requested


def test_nested_access_of_jagged_columns(nano):
    events, _ = events_of(nano, access_log=[])

    def body(events):
        jets = events.Jet[events.Jet.pt > 20]
        good = jets[abs(jets.eta) < 50]
        pairs = ak.combinations(good, 2)
        first, second = ak.unzip(pairs)
        ak.sum((first.mass + second.mass)[:, :1])
        ak.sum(events.Jet.pt)  # there already

    chunk = one_chunk(body, events)
    assert set(chunk["accessed_branches"]) == {"nJet", "Jet_pt", "Jet_eta", "Jet_mass"} | (
        set(chunk["accessed_branches"]) & {"Jet_phi"}
    )
    assert set(chunk["reads"]) == set(chunk["accessed_branches"])
    with uproot.open({nano: "Events"}) as tree:
        for name, read in chunk["reads"].items():
            # what is read twice comes out of uproot's cache the second time
            assert read["bytes"] == basket_bytes(tree[name], 0, 900)


def test_eager_events_do_not_tell_what_is_accessed(nano):
    events, factory = events_of(nano, mode="eager", access_log=[])
    assert len(factory.access_log) > 50
    chunk = one_chunk(lambda events: {"n": ak.sum(events.Jet.pt)}, events, "memory:eager")
    assert chunk["accessed_branches"] is None
    assert chunk["accessed_bytes"] is None
    assert chunk["reads"] == {}
    assert chunk["bytes_read"] == chunk["metadata_bytes"]
    assert chunk["file_metadata"]["total_branches"] == 54


def test_without_an_access_log(nano):
    events, _ = events_of(nano)
    chunk = one_chunk(lambda events: {"n": ak.sum(events.Jet.pt)}, events)
    assert chunk["accessed_branches"] is None
    assert chunk["accessed_bytes"] is None
    assert sorted(chunk["reads"]) == ["Jet_pt", "nJet"]


def test_a_file_is_told_once_a_run(nano):
    def chunk(topic):
        return one_chunk(len_only, events_of(nano, access_log=[])[0], topic)

    assert "file_metadata" in chunk("memory:first")
    assert "file_metadata" not in chunk("memory:first")
    # a second collector in the same process, and two that take turns
    assert "file_metadata" in chunk("memory:second")
    assert "file_metadata" not in chunk("memory:first")
    assert "file_metadata" not in chunk("memory:second")


def test_several_files_and_chunks_of_each(tmp_path):
    columns = nano_columns(500, seed=7)
    paths = [
        write_ttree(tmp_path / f"{name}.root", columns, COMPRESSIONS[name])
        for name in ("zlib", "none")
    ]
    output, report = run(paths, chunksize=100)
    chunks = output[KEY]
    assert len(chunks) == 10
    check_totals(chunks, report)
    for path in paths:
        with uproot.open({path: "Events"}) as tree:
            for chunk in chunks:
                if chunk["file"] == path:
                    assert chunk["file_metadata"]["total_tree_bytes"] == tree.compressed_bytes
                    assert chunk["accessed_bytes"] == sum(
                        tree[n].compressed_bytes for n in ACCESSED
                    )


def test_1500_branches(tmp_path):
    path = write_ttree(tmp_path / "wide.root", nano_columns(50, seed=8, flat=1486), uproot.ZLIB(1))

    class All(Analysis):
        def analyse(self, events):
            record = events.Flag.layout  # events.Flag would make all 1,486 columns of it anew each time
            for field in record.fields:
                np.asarray(ak.Array(record[field]))

    output, report = run([path], All())
    (chunk,) = output[KEY]
    assert chunk["bytes_read"] == report["bytesread"]
    with uproot.open({path: "Events"}) as tree:
        assert len(tree.keys()) == 1500
        about = chunk["file_metadata"]
        assert about["total_branches"] == 1500
        assert about["branch_bytes"] == {n: b.compressed_bytes for n, b in tree.items()}
        flags = [f"Flag_{i}" for i in range(1486)]
        assert sorted(chunk["accessed_branches"]) == sorted(flags)
        assert chunk["accessed_bytes"] == sum(tree[n].compressed_bytes for n in flags)
        assert {n: r["bytes"] for n, r in chunk["reads"].items()} == {
            n: tree[n].compressed_bytes for n in flags
        }


def test_threads(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    paths = [
        write_ttree(tmp_path / f"{i}.root", nano_columns(600, seed=i), step=200) for i in range(3)
    ]
    with ThreadPoolExecutor(4) as pool:
        output, report = run(
            paths, chunksize=100, executor=processor.FuturesExecutor(pool=pool, status=False)
        )
    assert len(output[KEY]) == 18
    check_totals(output[KEY], report)


class ReadsInThreads(Analysis):
    """Has a pool of its own in process(), which reads column by column."""

    def analyse(self, events):
        from concurrent.futures import ThreadPoolExecutor

        flags = events.Flag
        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(lambda name: float(ak.sum(flags[name])), map(str, range(40))))


def test_a_pool_of_threads_inside_process(tmp_path):
    path = write_ttree(tmp_path / "x.root", nano_columns(4000, seed=1), step=200)
    output, _ = run([path], ReadsInThreads(), chunksize=1000)
    names = [f"Flag_{i}" for i in range(40)]
    for chunk in output[KEY]:
        counts = {name: read["count"] for name, read in chunk["reads"].items()}
        assert counts == dict.fromkeys(names, 1)
        assert sorted(chunk["accessed_branches"]) == sorted(names)
        assert all(read["seconds"] > 0 for read in chunk["reads"].values())


def test_dask(tmp_path, client):
    paths = [
        write_ttree(tmp_path / f"{i}.root", nano_columns(600, seed=i), step=200) for i in range(3)
    ]
    output, report = run(
        paths, chunksize=150, executor=processor.DaskExecutor(client=client, status=False)
    )
    chunks = output[KEY]
    assert len(chunks) == 12
    check_totals(chunks, report)
    for path in paths:
        with uproot.open({path: "Events"}) as tree:
            (about,) = {
                chunk["file_metadata"]["total_tree_bytes"]
                for chunk in chunks if chunk["file"] == path
            }
            assert about == tree.compressed_bytes


# ---- one open file, several chunks ----


def chunk_of(file, path, first, last, body):
    """One chunk of an open file, as a loop over `uproot.open` makes it."""
    events = NanoEventsFactory.from_root(
        file, treepath="Events", schemaclass=NanoAODSchema, entry_start=first, entry_stop=last, access_log=[],
        metadata={"dataset": "data", "filename": str(path), "treename": "Events", "entrystart": first,
                  "entrystop": last, "fileuuid": str(file.file.uuid)},
    ).events()
    return one_chunk(body, events)


def test_chunks_of_one_open_file(nano):
    """Opening counts once; each chunk has its own bytes and requests."""
    ranges = [(0, 300), (300, 600), (600, 900)]
    ends, chunks = [], []
    with uproot.open({nano: None}) as file:
        source = file.file.source
        for first, last in ranges:
            chunks.append(chunk_of(file, nano, first, last, lambda events: {"n": ak.sum(events.Jet.pt)}))
            ends.append((source.num_requested_bytes, source.num_requests))
        total, requests = source.num_requested_bytes, source.num_requests
    assert chunks[0]["bytes_read"] == ends[0][0]
    assert [c["bytes_read"] for c in chunks[1:]] == [ends[1][0] - ends[0][0], ends[2][0] - ends[1][0]]
    assert sum(c["bytes_read"] for c in chunks) == total
    assert sum(c["read_requests"] for c in chunks) == requests
    for chunk in chunks:
        assert chunk["bytes_read"] - chunk["metadata_bytes"] == sum(r["bytes"] for r in chunk["reads"].values()) > 0
    assert chunks[0]["metadata_bytes"] > 10 * chunks[1]["metadata_bytes"]


def test_the_same_events_twice(nano):
    """The second time nothing is read."""
    events, _ = events_of(nano, access_log=[])

    def body(events):
        return {"n": ak.sum(events.Jet.pt)}

    first, second = one_chunk(body, events), one_chunk(body, events)
    assert first["bytes_read"] > 0
    assert (second["bytes_read"], second["metadata_bytes"], second["read_requests"]) == (0, 0, 0)


def test_a_chunk_inside_a_chunk(nano):
    """The inner one is a part of the outer one, which has its reads."""
    events, factory = events_of(nano, access_log=[])
    inner = []

    def body(events):
        ak.sum(events.Jet.pt)
        inner.append(Plain(lambda events: {"n": ak.sum(events.Muon.eta)}).process(events))

    outer = one_chunk(body, events)
    assert outer["bytes_read"] == factory.file_handle.file.source.num_requested_bytes
    assert outer["bytes_read"] - outer["metadata_bytes"] == sum(r["bytes"] for r in outer["reads"].values())
    assert {"Jet_pt", "Muon_eta"} <= set(outer["reads"]) and inner[0].keys() == {"n"}


def test_chunks_of_two_threads_on_one_open_file(nano):
    """Whose bytes these are is not known."""
    import threading

    begun, done, other = threading.Event(), threading.Event(), []
    with uproot.open({nano: None}) as file:
        def first(events):
            thread = threading.Thread(target=lambda: other.append(chunk_of(file, nano, 300, 600, second)))
            thread.start()
            assert begun.wait(60)
            done.set()
            thread.join(60)

        def second(events):
            begun.set()
            assert done.wait(60)
            ak.sum(events.event)

        chunk = chunk_of(file, nano, 0, 300, first)
        after = chunk_of(file, nano, 600, 900, lambda events: {"n": ak.sum(events.event)})
    for each in (chunk, *other):
        assert each["bytes_read"] is None
        assert each["read_requests"] is None
    assert chunk["metadata_bytes"] > 0
    assert other[0]["metadata_bytes"] is None
    assert after["bytes_read"] - after["metadata_bytes"] == after["reads"]["event"]["bytes"] > 0


def test_a_chunk_holds_no_file(nano):
    import gc
    import weakref

    file = uproot.open({nano: None})
    chunk_of(file, nano, 0, 300, len_only)
    source = weakref.ref(file.file.source)
    file.close()
    del file
    gc.collect()
    assert source() is None
