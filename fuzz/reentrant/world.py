"""Objects whose protocol methods may do anything: raise, lie, change what is being read, call the engine again.

All that happens in a case follows from one stream of random numbers, so a case can be repeated. Only while the
engine is being called, and only so many times, hostile objects do harm: a case ends.
"""

from __future__ import annotations

import ctypes
import gc
import math
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import suppress
from itertools import chain
from random import Random
from typing import Any

from roastcoffea._core import ChunkLog

DEEPEST = 3  # calls of the engine inside of calls of the engine
DEEPEST_PART = 12  # parts inside of parts that are poisoned
HARM = 60  # how often in a case


class Node:
    """An object with attributes, as they are looked at on users' objects."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Slotted:
    """The same without a dict."""

    __slots__ = ()


class OtherNode(Node):
    """What a Node may turn into."""


class World:
    """One case: its random numbers, what it has made, and what went wrong."""

    def __init__(self, case: str, tame: bool) -> None:
        self.random = Random(case)
        self.rate = 0.0 if tame else self.random.choice([0.03, 0.1, 0.25, 0.5])
        self.harm = 0 if tame else HARM
        self.depth = 0
        self.containers: list[Any] = []  # dicts, lists and nodes that the engine may be reading
        self.places: set[int] | None = None  # parts to poison of the value that is being made
        self.place = 0
        self.homes: list[Any] = []  # containers of hostile objects
        self.things: list[Any] = []  # objects of the engine
        self.home: Any = None  # of the hostile object that acts
        self.actions: list[Callable[[], Any]] = []
        self.raised: BaseException | None = None
        self.broken: list[str] = []
        self.trace: Callable[[str], None] | None = None

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, choices: Any) -> Any:
        return choices[self.random.randrange(len(choices))]

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls the engine. What it raises is kept; a SystemError is a mistake of the engine's."""
        self.raised = None
        self.depth += 1
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            self.note(error)
            self.raised = error
            return None
        finally:
            self.depth -= 1

    def note(self, error: BaseException | None) -> None:
        while error is not None:
            if isinstance(error, SystemError):
                self.broken.append(f"SystemError: {error}")
                if self.broken.count(self.broken[-1]) > 1:
                    self.broken.pop()
            error = error.__cause__ or error.__context__

    # ---- what a hostile method does ----

    def intrude(self, where: str, who: Any = None) -> None:
        """Called by every hostile method."""
        try:
            next(map(abs, (1,)))  # a call from C: there the interpreter notices an exception that is set already
            self.do_harm(where, self.home_of(who) if who is not None else None)
        except SystemError as error:
            self.note(error)
            show_c_stack()
            raise

    def do_harm(self, where: str, home: Any) -> None:
        if self.depth == 0 or self.depth > DEEPEST or self.harm <= 0:
            return
        self.harm -= 1
        draw = self.random.random()
        if draw > 0.6:
            return
        if draw > 0.15:
            action = self.pick(self.actions)
            if home is not None and self.chance(0.4):
                action = self.change_home
            if self.trace is not None:
                self.trace(f"{'  ' * self.depth}{where}: {action.__name__}")
            self.home = home
            action()
        if draw < 0.25:
            error = make_error(self)
            if self.trace is not None:
                self.trace(f"{'  ' * self.depth}{where}: raises {type(error).__name__}")
            raise error

    def lies(self) -> bool:
        return self.depth > 0 and self.harm > 0 and self.chance(0.15)

    # ---- values ----

    def odd(self) -> Any:
        """A value of a wrong type, size or kind."""
        return self.pick(ODD)(self)

    def poison(self, value: Any) -> Any:
        """The same value, with hostile or odd parts in it: in a few places, so that all before them is read as usual,
        or in many."""
        if self.rate == 0:
            return value
        self.places = None
        if self.chance(0.75):
            parts = list(walk_parts(value, DEEPEST_PART))
            inner = [place for place, is_container in enumerate(parts) if is_container] or [0]
            self.places = {self.pick(inner) if self.chance(0.5) else self.random.randrange(len(parts))
                           for _ in range(self.pick((0, 1, 1, 2, 3, 6)))}
        self.place = 0
        return self.poison_part(value, DEEPEST_PART)

    def poison_part(self, value: Any, deep: int) -> Any:
        place, self.place = self.place, self.place + 1
        if (place in self.places) if self.places is not None else self.chance(self.rate):
            return self.odd() if self.chance(0.2) else self.make_hostile(value)
        made = value
        if deep == 0:
            return value
        if type(value) is dict:
            made = {}
            for key, item in value.items():
                key = self.poison_part(key, deep - 1)
                try:
                    made[key] = self.poison_part(item, deep - 1)
                except (TypeError, ValueError):  # a key without a hash
                    made[type(key).__name__] = item
            self.settle(made, [*made, *made.values()])
        elif type(value) in (list, tuple):
            made = type(value)([self.poison_part(item, deep - 1) for item in value])
            if type(value) is list:
                self.settle(made, made)
        elif isinstance(value, (Node, Slotted)):
            for name in attributes_of(value):
                object.__setattr__(value, name, self.poison_part(getattr(value, name), deep - 1))
            self.settle(value, [getattr(value, name) for name in attributes_of(value)])
        if isinstance(made, (dict, list, Node, Slotted)) and self.chance(0.7):
            self.containers.append(made)
        return made

    def settle(self, home: Any, items: Any) -> None:
        """Tells hostile objects what they were put into. By a place in a list, which holds no reference for long."""
        self.homes.append(home)
        for item in items:
            if type(item).__name__ == "Hostile":
                object.__setattr__(item, "home", len(self.homes) - 1)

    def home_of(self, item: Any) -> Any:
        place = object.__getattribute__(item, "__dict__").get("home", -1)
        return self.homes[place] if 0 <= place < len(self.homes) else None

    def make_hostile(self, value: Any) -> Any:
        base = self.pick(BASES.get(type(value), (object,)))
        groups = frozenset(name for name in GROUPS if name in NEEDED.get(type(value), ()) or self.chance(0.4))
        made_by = hostile_class(base, groups)
        try:
            made = made_by(value) if base not in (object, MutableMapping) else made_by()
        except (TypeError, ValueError, OverflowError):
            base, made_by = object, hostile_class(object, groups)
            made = made_by()
        if base in (object, MutableMapping):
            object.__setattr__(made, "inner", value)
        elif base is dict or base is list:
            self.containers.append(made)
        return made

    # ---- changes of what the engine may be reading ----

    def change_home(self) -> None:
        self.change(self.home)

    def change_container(self) -> None:
        if self.containers:
            self.change(self.pick(self.containers))

    def change(self, one: Any) -> None:
        if isinstance(one, dict):
            self.change_dict(one)
        elif isinstance(one, list):
            self.change_list(one)
        else:
            self.change_node(one)

    def change_dict(self, one: dict[Any, Any]) -> None:
        how = self.random.randrange(5)
        if how == 0:
            dict.clear(one)
        elif how == 1 and one:
            dict.popitem(one)
        elif how == 2:
            for key in list(dict.keys(one)):
                dict.__setitem__(one, key, self.odd())
        elif how == 3:
            dict.update(one, {f"new {i}": i for i in range(40)})
        else:
            held = dict(one)
            dict.clear(one)
            dict.update(one, {key: None for key in held})

    def change_list(self, one: list[Any]) -> None:
        """By the methods of list: a hostile list may lie about its length. What a ChunkLog has of its own is used too."""
        how, kind = self.random.randrange(5), self.pick((type(one), list)) if type(one) is ChunkLog else list
        if how == 0:
            kind.clear(one)
        elif how == 1 and list.__len__(one):
            kind.pop(one, self.random.randrange(list.__len__(one)))
        elif how == 2:
            kind.__setitem__(one, slice(None), [{} for _ in range(list.__len__(one))])
        elif how == 3:
            kind.extend(one, [{}] * 40)
        else:
            kind.reverse(one)

    def change_node(self, one: Any) -> None:
        how = self.random.randrange(4)
        names = attributes_of(one)
        if how == 0 and hasattr(one, "__dict__"):
            one.__dict__.clear()
        elif how == 1 and names:
            object.__delattr__(one, self.pick(names))
        elif how == 2 and names:
            object.__setattr__(one, self.pick(names), self.odd())
        elif type(one) is Node:
            one.__class__ = OtherNode

    def drop_references(self) -> None:
        """Lets go of all that the case holds, then of all that one container holds."""
        held, self.containers = self.containers, []
        one = self.home if self.home is not None else self.pick(held) if held else None
        self.home = None
        held.clear()
        self.homes.clear()
        self.things.clear()
        if one is not None:
            self.containers.append(one)
            if isinstance(one, dict):
                dict.clear(one)
            elif isinstance(one, list):
                list.clear(one)
            elif hasattr(one, "__dict__"):
                one.__dict__.clear()

    def collect_garbage(self) -> None:
        for thing in self.things:
            gc.get_referents(thing)
        gc.collect()

    def act_in_a_thread(self) -> None:
        action = self.pick(self.actions)
        if action != self.act_in_a_thread:
            thread = threading.Thread(target=self.call, args=(action,))
            thread.start()
            thread.join()


def walk_parts(value: Any, deep: int) -> Iterator[bool]:
    """In the order of poison_part(): for each part whether it has parts itself."""
    inside: Iterable[Any] = ()
    if type(value) is dict:
        inside = chain.from_iterable(value.items())
    elif type(value) in (list, tuple):
        inside = value
    elif isinstance(value, (Node, Slotted)):
        inside = [getattr(value, name) for name in attributes_of(value)]
    yield inside != ()
    if deep > 0:
        for part in inside:
            yield from walk_parts(part, deep - 1)


def show_c_stack() -> None:
    """Whose fault it is, where the sanitizers are loaded."""
    with suppress(AttributeError):
        ctypes.CDLL(None).__sanitizer_print_stack_trace()


def attributes_of(node: Any) -> list[str]:
    names = node.__dict__ if hasattr(node, "__dict__") else type(node).__slots__
    return [name for name in names if hasattr(node, name)]


# ---- errors and odd values ----

class Untold(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


ERRORS = (ValueError, TypeError, KeyError, AttributeError, IndexError, RuntimeError, StopIteration, OverflowError,
          MemoryError, RecursionError, KeyboardInterrupt, SystemExit, GeneratorExit, UnicodeError, Untold)


def make_error(world: World) -> BaseException:
    kind: type[BaseException] = world.pick(ERRORS)
    return kind("hostile")


def make_cycle(_: World) -> Any:
    cycle: list[Any] = []
    cycle.append({"again": cycle})
    return cycle


def make_depth(_: World) -> Any:
    deep: Any = 1
    for _level in range(400):
        deep = [deep]
    return deep


def make_iterator(world: World) -> Any:
    def items() -> Any:
        for i in range(3):
            world.intrude("generator")
            yield i

    return items()


ODD: list[Callable[[World], Any]] = [
    *[lambda _, value=value: value for value in (
        None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400, 0.0, -0.0, 1.5, -1e308, 1e308,
        math.nan, math.inf, -math.inf, "", "x", "\0", "\ud800", "é" * 300, "a\nb", b"", b"\xff\xfe", (), ("a",),
        ("a", 1), ("a", 1, 2), frozenset(), NotImplemented, Ellipsis, object, len, 1j, range(3))],
    lambda _: [], lambda _: {}, lambda _: set(), lambda _: [1, 2], lambda _: ["ab", "cd"], lambda _: [()],
    lambda _: [("a",), ("b", 1, 2)], lambda _: [["a", 1]], lambda _: {"a": 1}, lambda _: {1: {2: 3}}, lambda _: object(),
    lambda _: bytearray(b"abc"), lambda _: memoryview(b"abcdefgh"), lambda _: memoryview(bytearray(64))[::2],
    lambda _: array("d", [1.0, math.nan]), lambda _: array("q", [-1, 2**62]), lambda _: array("b", [1]),
    lambda _: memoryview(array("d", [1.0, 2.0])).cast("B"), lambda _: "x" * 100_000, lambda _: [None] * 1000,
    make_cycle, make_depth, make_iterator, lambda world: world.make_hostile(Node(a=1)),
    lambda world: world.make_hostile({"a": 1}), lambda world: world.make_hostile(1.0), lambda world: make_error(world),
    lambda world: world.pick(world.things) if world.things else None,
    lambda world: world.pick(world.containers) if world.containers else None,
]

# ---- hostile classes ----

GROUPS: dict[str, tuple[str, ...]] = {
    "number": ("__float__", "__int__", "__index__", "__bool__", "__round__", "__trunc__"),
    "text": ("__str__", "__repr__", "__format__", "__fspath__", "__bytes__"),
    "order": ("__eq__", "__ne__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__"),
    "sequence": ("__len__", "__getitem__", "__iter__", "__contains__", "__reversed__", "__length_hint__", "__next__"),
    "mapping": ("keys", "items", "values", "get", "__setitem__", "__delitem__"),
    "sum": ("__add__", "__radd__", "__iadd__", "__sub__", "__mul__", "__rmul__"),
    "use": ("__call__", "__enter__", "__exit__", "__instancecheck__", "copy", "append", "extend"),
    "travel": ("__reduce__", "__reduce_ex__", "__getstate__", "__copy__", "__deepcopy__"),
    "attribute": ("__getattr__", "__setattr__", "__delattr__"),
    "end": ("__del__",),
    "class": ("__class__",),
}
BASES: dict[type, tuple[type, ...]] = {
    dict: (dict, object, MutableMapping), list: (list, object, tuple), tuple: (tuple, object, list),
    str: (str, str, object), int: (int, float, object), float: (float, object, int), bool: (int, object),
    bytes: (bytes, object),
}
# Without these it would be turned away at the door.
NEEDED: dict[type, tuple[str, ...]] = {
    dict: ("mapping", "sequence"), list: ("sequence",), tuple: ("sequence",), int: ("number",), float: ("number",),
    Node: ("attribute",),
}
USUAL: dict[str, Any] = {
    "__float__": 1.5, "__int__": 3, "__index__": 3, "__bool__": True, "__round__": 1, "__trunc__": 1, "__str__": "text",
    "__repr__": "text", "__format__": "text", "__fspath__": "place", "__bytes__": b"abc", "__eq__": False, "__ne__": True,
    "__hash__": 7, "__len__": 2, "__contains__": True, "__length_hint__": 2, "keys": ["a"], "items": [("a", 1)],
    "values": [1], "__exit__": False, "__instancecheck__": True, "__reduce__": (dict, ()), "__reduce_ex__": (dict, ()),
}
NO_PAIRS: tuple[Callable[[], Any], ...] = (
    lambda: [1, 2], lambda: ["ab"], lambda: [("a",)], lambda: [("a", 1, 2)], lambda: [["a", 1]], lambda: [None],
    lambda: iter([("a", 1)]), lambda: (("a", 1),), lambda: [("a", 1), 3], lambda: [{}], lambda: [("\ud800", 1)])
LIES: dict[str, tuple[Callable[[], Any], ...]] = {
    "items": NO_PAIRS, "__iter__": tuple(lambda lie=lie: iter(lie()) for lie in NO_PAIRS),
    "keys": (lambda: ["a", "missing"], lambda: [1, None], lambda: "ab", lambda: [[]], lambda: [("a", 1)]),
    "__len__": (lambda: 0, lambda: 1, lambda: 1000, lambda: -1, lambda: 2**62),
    "__float__": (lambda: math.nan, lambda: math.inf, lambda: -1.0, lambda: 1e300),
    "__index__": (lambda: -1, lambda: 2**63, lambda: 10**30, lambda: 0),
    "__hash__": (lambda: 0, lambda: 1, lambda: 2**61),
}
CLASSES: dict[tuple[type, frozenset[str]], type] = {}
current: World | None = None  # of the case that is running


def usual_result(self: Any, base: type, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the method would do if it were honest."""
    if base in (object, MutableMapping):
        inner = object.__getattribute__(self, "__dict__").get("inner")
        if name == "__getattr__":
            return getattr(inner, *args)
        if name in ("__setattr__", "__delattr__"):
            return getattr(object, name)(self, *args)
        method = getattr(type(inner), name, None)
        if method is not None and (name in vars(type(inner)) or name not in USUAL):
            return method(inner, *args, **kwargs)
    else:
        method = getattr(base, name, None)
        if method is not None:
            return method(self, *args, **kwargs)
        if name == "__getattr__":
            raise AttributeError(args[0])
    if name == "__next__":
        raise StopIteration
    return USUAL.get(name)


def hostile_method(base: type, name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        now = current
        if now is None:
            return usual_result(self, base, name, args, kwargs)
        now.intrude(name, self)
        if now.lies():
            return now.pick(LIES[name])() if name in LIES and now.chance(0.7) else now.odd()
        result = usual_result(self, base, name, args, kwargs)
        return result if name != "__iter__" or not now.chance(0.3) else make_walk(result)

    method.__name__ = method.__qualname__ = name
    return method


def make_walk(items: Any) -> Any:
    """An iterator in which something may happen between two items."""
    for item in items:
        if current is not None:
            current.intrude("__next__")
        yield item


def end_of_life(self: Any) -> None:
    if current is not None:
        current.intrude("__del__", self)


def lying_class(self: Any) -> type:
    if current is not None and current.depth > 0:
        current.intrude("__class__", self)
        if current.lies():
            liar: type = current.pick((dict, list, str, int, float, tuple, *(type(thing) for thing in current.things)))
            return liar
    return type(self)


def hostile_class(base: type, groups: frozenset[str]) -> type:
    if (base, groups) not in CLASSES:
        body: dict[str, Any] = {name: hostile_method(base, name) for group in groups for name in GROUPS[group]
                                if name not in ("__del__", "__class__")}
        if "end" in groups and base is object:
            body["__del__"] = end_of_life
        if "class" in groups:
            body["__class__"] = property(lying_class)
        if base is MutableMapping:
            for name in ("__getitem__", "__setitem__", "__delitem__", "__iter__", "__len__"):
                body.setdefault(name, hostile_method(base, name))
        CLASSES[base, groups] = type("Hostile", (base,), body)
    return CLASSES[base, groups]
