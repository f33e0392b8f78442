"""What process(), its sections and its events can do while they are measured."""

from __future__ import annotations

import pickle
import weakref

from hostile import Attributes, KEY, case, collected, current, with_factory
from samples import Events, Plain

from roastcoffea import BaseInstrumentationContext, track_bytes, track_metrics, track_time
from roastcoffea.worker import channel

# ---- sections ----


@case
def a_section_that_is_left_while_it_is_left():
    class Mapping(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            for _ in range(3):
                section.__exit__(None, None, None)
            collected()

    class Processor:
        pass

    processor = Processor()
    processor._roastcoffea_current_chunk = Mapping()
    section = track_time(processor, "a")
    section.__enter__()
    section.__enter__()
    del processor._roastcoffea_current_chunk
    section.__exit__(None, None, None)
    section.__exit__(None, None, None)


@case
def a_section_that_is_entered_while_it_is_entered():
    class Processor:
        deep = 0

        @property
        def _roastcoffea_current_chunk(self):
            self.deep += 1
            if self.deep < 5:
                section.__enter__()
            return {}

    section = track_time(Processor(), "a")
    section.__enter__()
    collected()
    for _ in range(10):
        section.__exit__(None, None, None)


@case
def events_that_leave_the_section():
    class Source:
        @property
        def num_requested_bytes(self):
            section.__exit__(None, None, None)
            collected()
            return 5

    class Handle:
        source = Source()

    class Factory:
        file_handle = Handle()

    class Odd(Events):
        attrs = {"@events_factory": Factory()}

    class Processor:
        _roastcoffea_current_chunk = {}

    section = track_bytes(Processor(), Odd(), "a")
    section.__enter__()
    section.__enter__()
    section.__exit__(None, None, None)
    section.__exit__(None, None, None)


@case
def a_section_name_with_a_hash_of_its_own():
    class Name(str):
        def __hash__(self):
            if self.armed:
                type(self).armed = False
                for i in range(3000):
                    with track_time(self.processor, f"more {i}"):
                        pass
                collected()
            return 1

        def __str__(self):
            return self

    def body(self, events):
        for i in range(600):
            Name.armed, Name.processor = i == 500, self
            with track_time(self, Name("a")):
                pass
        return {}

    Plain(body).process(Events())


@case
def a_context_that_loses_its_processor():
    class Processor:
        @property
        def _roastcoffea_current_chunk(self):
            context.processor = None
            collected()
            return {}

    context = BaseInstrumentationContext(Processor(), "a")
    context.record_metric("b", 1)


# ---- the decorator ----


@case
def an_exception_whose_class_is_renamed():
    class Failure(Exception):
        def __str__(self):
            return "text"

    class Odd(Events):
        @property
        def attrs(self):
            Failure.__name__ = "Another" * 30
            collected()
            return {}

    def body(self, events):
        raise Failure

    try:
        Plain(body).process(Odd())
    except Failure:
        pass


@case
def a_dict_of_the_decorator_that_is_replaced():
    @track_metrics
    def process(events):
        return {}

    class Key(str):
        def __eq__(self, other):
            process.__dict__ = {}
            collected()
            return False

        def __hash__(self):
            return hash("__module__")

    process.__dict__ = {Key("x"): 1, "__wrapped__": 1, "__qualname__": "process"}
    try:
        pickle.dumps(process)
    except Exception:  # noqa: BLE001
        pass
    state = {Key("y"): 1, "__module__": 2}
    process.__dict__ = {Key("x"): 1}
    process.__dict__.update(state)


@case
def a_current_chunk_that_outlives_its_processor():
    def body(self, events):
        kept.append(current(self))
        del self._roastcoffea_current_chunk
        return {}

    kept = []
    processor = Plain(body)
    processor.process(Events())
    gone = weakref.ref(processor)
    del processor
    collected()
    assert gone() is None
    assert dict(kept[0]) == {}
    kept[0]["a"] = 1


@case
def a_topic_that_is_flushed_while_it_is_delivered():
    deep = [0]
    processor = Plain()
    processor._roastcoffea_topic = "hostile:topic"

    def send(topic, data):
        deep[0] += 1
        if deep[0] < 4:
            processor.process(Events())
            channel.flush(topic)
            channel.close(topic)
            collected()

    channel.register("hostile", send, lambda topic, seconds: channel.flush(topic))
    for _ in range(300):
        processor.process(Events())
    channel.flush("hostile:topic")
    channel.flush()
    assert deep[0] > 0


@case
def output_that_is_changed_while_it_is_filled():
    class Output(dict):
        def __setitem__(self, key, value):
            self.clear()
            collected()
            super().__setitem__(key, value)

    class Sums(list):
        def __add__(self, other):
            self.owner.clear()
            collected()
            return [other]

    def body(self, events):
        output = Output()
        sums = Sums()
        sums.owner = output
        dict.__setitem__(output, KEY, sums)
        return output

    for _ in range(5):
        Plain(body).process(Events())


# ---- files ----


@case
def a_reader_that_is_taken_off_while_it_reads():
    class Source:
        armed = False

        @property
        def num_requested_bytes(self):
            if self.armed:
                mapping.__dict__.clear()
                collected()
            return 5

    class Mapping:
        def __init__(self):
            self._access_log = [Attributes(branch="a")]

        def extract_column(self, handle):
            return Attributes(nbytes=3)

    source = Source()
    mapping = Mapping()
    events = with_factory(file_handle=Attributes(source=source), _mapping=mapping, mapping=mapping,
                          access_log=[])

    def body(self, events):
        reader = mapping.extract_column
        Source.armed = True
        for i in range(100):
            reader(Attributes(_column=f"c{i}", column=f"c{i}"))
        Source.armed = False
        return {"n": 1}

    assert Plain(body).process(events)["n"] == 1


@case
def preloaded_columns_that_change_while_they_are_counted():
    preloaded = {}

    class Name(str):
        def __eq__(self, other):
            preloaded.clear()
            collected()
            return str(self) == str(other)

        def __hash__(self):
            return 7

    for i in range(30):
        dict.__setitem__(preloaded, f"plain {i}", 1)
    preloaded[Name("x")] = 1

    class Lookup(dict):
        def __missing__(self, key):
            preloaded.clear()
            for i in range(100):
                preloaded[f"{key} again {i}"] = 1
            collected()
            raise KeyError(key)

    _core_reads(preloaded, Lookup())


def _core_reads(preloaded, lookup):
    tree = Attributes(_lookup=lookup)

    class Mapping:
        _preloaded_arrays = preloaded
        preloaded_arrays = preloaded
        _start = start = 0
        _stop = stop = 10
        cache = _cache = {"rootuuid/path": tree}

        def key_root(self):
            return "root"

        def extract_column(self, handle):
            return None

    mapping = Mapping()
    events = with_factory(file_handle=Attributes(source=Attributes(num_requested_bytes=9)),
                          _mapping=mapping, mapping=mapping, access_log=[],
                          _partition_key="uuid/path/0-10", partition_key="uuid/path/0-10")
    Plain().process(events)
