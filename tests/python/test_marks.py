"""Attributes that are put on objects of the user's and taken off again, in any order."""

from __future__ import annotations

import itertools
import threading

import pytest

from roastcoffea.common import marks
from roastcoffea.common.marks import GONE, Mark


class Thing:
    pass


def there(thing):
    return vars(thing).get("flag", GONE)


@pytest.fixture(autouse=True)
def nothing_is_kept():
    yield
    assert marks._attributes == {}


@pytest.mark.parametrize("before", [GONE, None, False, "own"])
def test_what_was_there_comes_back(before):
    thing = Thing()
    if before is not GONE:
        thing.flag = before
    mark = Mark(thing, "flag", True)
    assert thing.flag is True
    mark.take_off()
    mark.take_off()
    assert there(thing) is before


def test_an_attribute_that_was_missing_may_become_another():
    thing = Thing()
    Mark(thing, "flag", True, missing=False).take_off()
    assert there(thing) is False


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_in_any_order(order):
    thing = Thing()
    thing.flag = "own"
    put = [Mark(thing, "flag", value) for value in range(3)]
    left = [0, 1, 2]
    assert put[0].others() == left
    for number in order:
        put[number].take_off()
        left.remove(number)
        assert there(thing) == (left[-1] if left else "own")
    assert put[0].others() == []


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_the_user_sets_meanwhile_stays(order):
    thing = Thing()
    put = [Mark(thing, "flag", value) for value in ("first", "second")]
    thing.flag = "the user's"
    for number in order:
        put[number].take_off()
        assert there(thing) == "the user's"
    del thing.flag
    mark = Mark(thing, "flag", "third")
    del thing.flag
    mark.take_off()
    assert there(thing) is GONE


def test_an_attribute_of_the_class_is_hidden_and_not_changed():
    class Flagged(Thing):
        flag = "class"

    thing = Flagged()
    mark = Mark(thing, "flag", True)
    assert thing.flag is True and Flagged.flag == "class"
    mark.take_off()
    assert there(thing) is GONE and thing.flag == "class"
    mark = Mark(Flagged, "flag", True)
    assert thing.flag is True
    mark.take_off()
    assert Flagged.flag == "class"


@pytest.mark.parametrize("thing", [3, object(), len])
def test_what_takes_no_attribute_stays_as_it_is(thing):
    Mark(thing, "flag", True).take_off()
    assert not hasattr(thing, "flag")


def test_a_user_who_takes_it_off_first():
    thing = Thing()
    mark = Mark(thing, "flag", True)
    del thing.flag
    mark.take_off()
    assert there(thing) is GONE


def test_many_threads():
    thing = Thing()

    def put_and_take():
        for value in range(500):
            mark = Mark(thing, "flag", value)
            assert value in mark.others()
            mark.take_off()

    threads = [threading.Thread(target=put_and_take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert there(thing) is GONE
