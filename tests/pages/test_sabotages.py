"""The list of mistakes that the suite must see is not stale. They are made by hand:
python tests/helpers/sabotages.py takes some minutes.
"""

from notebooks import ROOT
from sabotages import SABOTAGES, misplaced


def test_every_mistake_can_still_be_made():
    remedy = "write `right` in tests/helpers/sabotages.py as the line stands now"
    assert misplaced(ROOT) == [], remedy


def test_they_are_all_over_the_house():
    house = ROOT / "rvamp_nb"
    rooms = {str(path.relative_to(house)) for path in house.rglob("[!_]*.py")}
    assert len(SABOTAGES) >= 40 and rooms - {s.room for s in SABOTAGES} == set()


def test_whoever_must_see_them_is_there():
    """A test that was renamed would stop helpers/sabotages.py before it begins."""
    tests = {test for s in SABOTAGES for test in s.tests.split()}
    missing = [test for test in sorted(tests) if not is_there(test)]
    assert missing == []


def is_there(test):
    """Whether the file has the function, of a test such as file.py::name[id]."""
    file, _, name = test.partition("::")
    path = ROOT / file
    if path.suffix != ".py" or not name:
        return path.exists()
    defined = f"def {name.partition('[')[0]}("
    return path.exists() and defined in path.read_text(encoding="utf-8")


def test_a_test_that_is_not_there_is_found():
    here = "tests/pages/test_sabotages.py"
    assert is_there(here) and is_there(f"{here}::test_they_are_all_over_the_house[1]")
    assert not is_there(f"{here}::test_they_are_all") and not is_there("tests/no.py")
