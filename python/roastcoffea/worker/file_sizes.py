"""The sizes of the files that this process reads: looked up once per process, sent once per run.

The engine asks once per chunk. Only data that Coffea holds in memory is used: nothing is read from a file. Sizes are
bytes, -1 where they are not known. Missing data raises here; the engine counts the failure or ignores it.
"""

from __future__ import annotations

import os
import threading
import weakref
from array import array
from collections import deque
from typing import Any, NamedTuple

__all__ = ["ASKED_ELSEWHERE", "SIZES", "describe", "preloaded_bytes"]

# Where each task has a process to itself, the client asks one task of each file for its sizes; the others are started
# with this variable of their environment.
SIZES, ASKED_ELSEWHERE = "ROASTCOFFEA_FILE_SIZES", "elsewhere"

_MOST_FILES = 4096
_MOST_SIZES = 2_000_000  # branches of all files that are kept: 32 MB
_MOST_BRANCHES = 1_000_000  # that a record can tell of
_MOST_PARQUET_PARTS = 8192  # pyarrow makes an object for each, which takes 2.5 µs
_DEEPEST = 32  # branches inside of branches


class _Names:
    """The branches of a tree. Files with the same branches share this object."""

    def __init__(self, names: tuple[str, ...], columns: tuple[tuple[int, ...], ...], nested: bool) -> None:
        self.names = names
        self.columns = columns  # that reading a branch reads; or empty: each branch is a column of its own
        self.nested = nested  # a branch may have another name than the one that it is accessed by
        # Of several branches of one name, uproot reads the first.
        self.place = {name: len(names) - 1 - i for i, name in enumerate(reversed(names))}


class _Tree(NamedTuple):
    names: list[str]
    bytes: list[int]
    uncompressed: list[int]
    tree_bytes: int
    tree_uncompressed: int
    nested: bool = False
    columns: tuple[tuple[int, ...], ...] = ()
    column_bytes: tuple[int, ...] | list[int] = ()
    column_uncompressed: tuple[int, ...] | list[int] = ()


class _File:
    def __init__(self, fingerprint: tuple[Any, ...], tree: _Tree) -> None:
        key = (tuple(tree.names), tree.columns, tree.nested)
        names = _names.get(key)
        if names is None:
            names = _names[key] = _Names(*key)
        self.names = names
        self.fingerprint = fingerprint
        self.bytes = array("q", tree.bytes)
        self.uncompressed = array("q", tree.uncompressed)
        self.column_bytes = array("q", tree.column_bytes) if tree.columns else self.bytes
        self.column_uncompressed = array("q", tree.column_uncompressed) if tree.columns else self.uncompressed
        self.tree_bytes, self.tree_uncompressed = tree.tree_bytes, tree.tree_uncompressed
        self.told: deque[str] = deque(maxlen=4)  # runs that know the file

    def sums(self, branches: list[str]) -> tuple[int, int]:
        """Of whole branches. A column that this file does not have has no bytes; but where branches stand inside
        branches, it may be one by another name."""
        names = self.names
        found = {i for branch in branches if (i := names.place.get(branch, -1)) >= 0}
        if (names.nested or not names.names) and not all(branch in names.place for branch in branches):
            return -1, -1
        if names.columns:
            found = {column for i in found for column in names.columns[i]}
        return _sum(self.column_bytes[i] for i in found), _sum(self.column_uncompressed[i] for i in found)


_names: weakref.WeakValueDictionary[Any, _Names] = weakref.WeakValueDictionary()
_files: dict[tuple[str | None, ...], _File] = {}
_lock = threading.RLock()


def _forget() -> None:
    """A forked process has not sent anything yet."""
    global _lock
    _lock = threading.RLock()
    _files.clear()


os.register_at_fork(after_in_child=_forget)


def describe(
    factory: Any,
    mapping: Any,
    key: tuple[str | None, ...],
    branches: list[str] | None,
    run: str,
    final: bool,
) -> tuple[int, int, tuple[Any, ...] | None] | None:
    """For a chunk of the file `key`: compressed and uncompressed bytes of these branches, and the sizes of the file if
    this process has not sent them yet. A chunk that is not `final` may be lost with its record."""
    tree = _open_tree(factory, mapping)
    fingerprint = _fingerprint(tree)
    file = _files.get(key)
    if file is None or file.fingerprint != fingerprint:
        found = _read(tree)
        if found is None or len(found.names) > _MOST_BRANCHES:
            return None
        file = _File(fingerprint, found)
        _keep(key, file)
    about = None
    if run not in file.told and os.environ.get(SIZES) != ASKED_ELSEWHERE:
        about = (file.names.names, file.bytes, file.uncompressed, file.tree_bytes, file.tree_uncompressed)
        if final:
            file.told.append(run)
    return (*(file.sums(branches) if branches is not None else (-1, -1)), about)


def _keep(key: tuple[str | None, ...], file: _File) -> None:
    with _lock:
        _files.pop(key, None)
        _files[key] = file
        sizes = sum(len(each.column_bytes) for each in _files.values())
        while len(_files) > 1 and (len(_files) > _MOST_FILES or sizes > _MOST_SIZES):
            sizes -= len(_files.pop(next(iter(_files))).column_bytes)


def _open_tree(factory: Any, mapping: Any) -> Any:
    """The tree, or Coffea's wrapper of a Parquet file, that the mapping holds open. Its key is that of the chunk,
    "uuid/path/first-last", without the range."""
    return mapping._cache[mapping.key_root() + factory._partition_key.rpartition("/")[0]]


def _size(number: Any) -> int:
    return number if isinstance(number, int) and 0 <= number < 1 << 62 else -1


def _sum(sizes: Any) -> int:
    """-1 if one is not known."""
    total = 0
    for size in sizes:
        if size < 0:
            return -1
        total += size
    return _size(total)


def _fingerprint(tree: Any) -> tuple[Any, ...]:
    """Distinguishes files of the same name. Coffea makes the uuid of a Parquet file from its name alone."""
    if hasattr(tree, "member") and not hasattr(tree, "all_fields"):
        return tree.member("fZipBytes"), tree.member("fEntries")
    metadata = getattr(getattr(tree, "file", None), "metadata", None)
    return getattr(metadata, "serialized_size", None), getattr(metadata, "num_rows", None)


def _read(tree: Any) -> _Tree | None:
    if hasattr(tree, "all_fields"):
        return _read_ntuple(tree)
    return _read_ttree(tree) if hasattr(tree, "member") else _read_parquet(tree)


def _read_ttree(tree: Any) -> _Tree | None:
    found = _Tree([], [], [], _size(tree.member("fZipBytes")), _size(tree.member("fTotBytes")))
    nested = _add_branches(tree, "", found, _DEEPEST)
    return None if nested is None else found._replace(nested=nested)


def _add_branches(of: Any, outer: str, found: _Tree, depth: int) -> bool | None:
    """By the names that tree.keys() gives them. Whether there are branches inside of branches; None: too many."""
    nested: bool | None = False
    for branch in of.member("fBranches"):
        name = outer + branch.member("fName")
        found.names.append(name)
        found.bytes.append(_size(branch.member("fZipBytes")))
        found.uncompressed.append(_size(branch.member("fTotBytes")))
        if len(branch.member("fBranches")) > 0:
            if depth == 0 or _add_branches(branch, name + "/", found, depth - 1) is None:
                return None
            nested = True
    return nested


def _read_ntuple(tree: Any) -> _Tree | None:
    """From the list of pages, which is read when the tree is opened. A column belongs to the innermost field that has a
    name; who reads a field reads those inside of it too. A projected field ("Muon_pt") stands for columns of another
    one ("_collection6.Muon_pt"). Fields that have columns in common with others have no size of their own."""
    if tree._header is None or tree._footer is None or not tree._page_list_envelopes:
        return None
    sizes, uncompressed = _column_sizes(tree)
    columns_of: dict[int, list[int]] = {}
    for column, record in enumerate(tree.column_records[: len(sizes)]):
        columns_of.setdefault(record._fields["field_id"], []).append(column)
    found = _Tree([], [], [], sum(sizes), sum(uncompressed), nested=True)
    around: list[int] = []  # of each entry: that of the field around it; -1: none
    inside: list[set[int]] = []  # of each entry: the columns
    place: list[int] = []  # of each field: its entry, or that of the field around it
    for i, (field, record) in enumerate(zip(tree.all_fields, tree.field_records, strict=True)):
        parent, source = record._fields["parent_field_id"], record._fields.get("source_field_id")
        outer = -1 if parent == i else place[parent]
        if field.path is None:
            place.append(outer)
        else:
            place.append(len(found.names))
            found.names.append(field.path)
            own = -1 if source is not None else 0
            found.bytes.append(own)
            found.uncompressed.append(own)
            around.append(outer)
            if outer >= 0:
                found.bytes[outer] = found.uncompressed[outer] = -1
            inside.append(set())
        at = place[i]
        columns = columns_of.get(i if source is None else source, ())
        if at < 0:
            continue
        inside[at].update(columns)
        if found.bytes[at] >= 0:
            found.bytes[at] += sum(sizes[column] for column in columns)
            found.uncompressed[at] += sum(uncompressed[column] for column in columns)
    for at in range(len(inside) - 1, -1, -1):
        if around[at] >= 0:
            inside[around[at]] |= inside[at]
    return found._replace(
        columns=tuple(tuple(sorted(each)) for each in inside), column_bytes=sizes, column_uncompressed=uncompressed
    )


def _column_sizes(tree: Any) -> tuple[list[int], list[int]]:
    """Compressed and uncompressed bytes of each column of an RNTuple, over all clusters."""
    bits = [record._fields["nbits"] for record in tree.column_records]
    sizes, uncompressed = [0] * len(bits), [0] * len(bits)
    for envelope in tree._page_list_envelopes:
        for cluster in envelope._fields["pagelinklist"]:
            for column, pages in zip(range(len(bits)), cluster, strict=False):
                of_column = pages._fields["pages"]
                sizes[column] += sum(page._fields["locator"]._fields["num_bytes"] for page in of_column)
                elements = (page._fields["num_elements"] for page in of_column)
                uncompressed[column] += sum((count * bits[column] + 7) // 8 for count in elements)
    return sizes, uncompressed


def _read_parquet(tree: Any) -> _Tree:
    """From the footer. The parts of a row group stand in the order of the columns: "Jet_pt" holds "Jet_pt" and
    "Jet_pt.list.element"."""
    metadata = tree.file.metadata
    names = list(tree.file.schema_arrow.names)
    unknown = _Tree(names, [-1] * len(names), [-1] * len(names), -1, -1)
    if metadata.num_row_groups * metadata.num_columns > _MOST_PARQUET_PARTS:
        return unknown
    sizes, uncompressed = [0] * len(names), [0] * len(names)
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        at = 0
        for j in range(metadata.num_columns):
            part = group.column(j)
            while at < len(names) and not (part.path_in_schema + ".").startswith(names[at] + "."):
                at += 1
            if at == len(names):
                return unknown
            sizes[at] += part.total_compressed_size
            uncompressed[at] += part.total_uncompressed_size
    return _Tree(names, sizes, uncompressed, sum(sizes), sum(uncompressed))


def preloaded_bytes(factory: Any, mapping: Any) -> int:
    """Bytes that reading the preloaded columns took for the entries of a chunk; -1: not known. The baskets with any of
    these entries, as uproot picks them."""
    tree = _open_tree(factory, mapping)
    start, stop = mapping._start, mapping._stop
    total = 0
    for name in list(mapping.preloaded_arrays):
        branch = tree._lookup[name]
        count = branch._num_normal_baskets
        sizes, first = branch.member("fBasketBytes"), branch.member("fBasketEntry")
        if count > len(sizes) or count >= len(first) or first[count] < min(stop, branch.member("fEntries")):
            return -1  # the rest lies inside the tree's own record
        total += sum(int(sizes[i]) for i in range(count) if start < first[i + 1] and first[i] < stop)
    return total
