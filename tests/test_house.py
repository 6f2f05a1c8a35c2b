"""The house does not grow: what tests/house.py counts may only become less."""

import pytest
from house import count

LINES, FLOORS, TWICE, ONCE = 14_980, 11, 0, 4
LARGEST = 620  # lines of a room


@pytest.fixture(scope="module")
def counted():
    return count()


def test_no_room_is_too_large(counted):
    lines = counted["lines"].values()
    assert max(lines) <= LARGEST and sum(lines) <= LINES


def test_imports_run_one_way(counted):
    assert counted["floors"] and counted["floors"] <= FLOORS
    assert counted["back"] == counted["hidden"] == []


def test_names_have_one_meaning_and_small_things_stand_where_they_are_used(counted):
    assert len(counted["twice"]) <= TWICE and len(counted["once"]) <= ONCE
    assert counted["deep"] == []
