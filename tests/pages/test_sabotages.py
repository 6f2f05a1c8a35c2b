"""The list of mistakes that the suite must see (tests/sabotages.py) is not stale. Each
is made by hand: python tests/sabotages.py takes some minutes.
"""

from notebooks import ROOT
from sabotages import SABOTAGES, misplaced


def test_every_mistake_can_still_be_made():
    assert misplaced(ROOT) == []


def test_they_are_all_over_the_house():
    house = ROOT / "rvamp_nb"
    rooms = {str(path.relative_to(house)) for path in house.rglob("[!_]*.py")}
    assert len(SABOTAGES) >= 40 and rooms - {s.room for s in SABOTAGES} == set()


def test_whoever_must_see_them_is_there():
    files = {test.partition("::")[0] for s in SABOTAGES for test in s.tests.split()}
    assert [file for file in files if not (ROOT / file).exists()] == []
