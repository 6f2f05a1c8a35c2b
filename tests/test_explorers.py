"""The explorers' JavaScript computes what Python computes, and the widget carries
all it needs.
"""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erfc, ndtr

import rvamp_nb
from rvamp_nb.densities import P1
from rvamp_nb.explorers import density_explorer, explorer_entry
from rvamp_nb.messages import Natural
from rvamp_nb.prior import Laplace
from rvamp_nb.resampling import Fixed, TwoPoint

MODULE = Path(rvamp_nb.__file__).parent / "explorers.js"
SPAN = (-2.0, 2.0)


def in_node(expression, **values):
    """The value of a JavaScript expression that may use the module's functions and
    the given values.
    """
    if not shutil.which("node"):
        pytest.skip("needs node: apt-get install nodejs")
    names = ", ".join(values) or "nothing"
    script = (
        f"import * as js from {json.dumps(MODULE.as_uri())}; const {{{names}}} ="
        f" {json.dumps(values)};process.stdout.write(JSON.stringify({expression}))"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", script],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def densities():
    rng = np.random.default_rng(0)
    for k in range(12):
        message = Natural(
            *(
                np.float64(v)
                for v in (rng.uniform(0.2, 5), rng.normal() * 2, rng.uniform(0.01, 3))
            )
        )
        yield P1(
            Laplace(
                rng.uniform(0.1, 2),
                [Fixed(), TwoPoint(2, 0.5), TwoPoint(3, 0.2)][k % 3],
            ),
            message,
        )


def entry(density):
    return explorer_entry(density, density.sample(500, np.random.default_rng(1)), SPAN)


def test_the_error_function_has_full_precision():
    x = np.concatenate([np.linspace(-8, 8, 321), [2.9999999, 3.0, 25.0]])
    np.testing.assert_allclose(
        in_node("x.map(js.erfc)", x=x.tolist()), erfc(x), rtol=1e-11, atol=1e-15
    )
    np.testing.assert_allclose(
        in_node("x.map(js.Phi)", x=x.tolist()), ndtr(x), rtol=1e-11, atol=1e-15
    )


def test_densities_agree_with_python():
    x, made = np.linspace(-3, 3, 61), list(densities())
    by_js = in_node(
        "ms.map((m) => ({pdf: x.map((v) => js.pdf(m, v)),"
        " cdf: x.map((v) => js.cdf(m, v)), moments: js.moments(m), atom: js.atom(m),"
        " moved: js.atom(js.shifted(m, 0.75))}))",
        ms=[entry(density)["message"] for density in made],
        x=x.tolist(),
    )
    for density, found in zip(made, by_js, strict=True):
        said, near = f"h = {density.incoming.h:.2f}", dict(rtol=1e-9, atol=1e-12)
        for name in ("pdf", "cdf"):
            np.testing.assert_allclose(
                found[name], getattr(density, name)(x), **near, err_msg=said
            )
        both = found["moments"]
        np.testing.assert_allclose(
            [found["atom"], both["mean"], both["variance"]],
            [density.atom, density.mean, density.var],
            **near,
            err_msg=said,
        )
        moved = density.incoming._replace(
            h=density.incoming.h + 0.75 * density.incoming.chi_hat**0.5
        )
        np.testing.assert_allclose(
            found["moved"],
            density.prior.moments(moved).rho_bar,
            rtol=1e-9,
            err_msg=said,
        )


def test_a_setting_finds_its_entry():
    choices = [dict(values=list(range(n))) for n in (2, 3, 4)]
    picks = [list(pick) for pick in np.ndindex(2, 3, 4)]
    found = in_node(
        "picks.map((pick) => js.entryAt(choices, pick))", choices=choices, picks=picks
    )
    assert found == list(range(24))


def test_an_entry_holds_all_of_the_refits():
    draws = np.array([0.0, 0.0, 0.3, -1.2])
    made = explorer_entry(next(iter(densities())), draws, SPAN)
    assert made["zeros"] == 0.5
    np.testing.assert_allclose(
        sum(made["bars"]) * 4.0 / len(made["bars"]) + made["zeros"], 1
    )
    json.dumps(made)


def test_the_widget_carries_its_table_and_reaches_for_nothing():
    first = list(densities())[:2]
    widget = density_explorer(
        {(k,): entry(d) for k, d in enumerate(first)},
        {"which": [0, 1]},
        (1,),
        SPAN,
        2.0,
        "x",
        gaussian=True,
    )
    assert (
        widget.table["start"] == [1]
        and len(widget.table["entries"]) == 2
        and widget.table["gaussian"]
    )
    source = MODULE.read_text(encoding="utf-8")
    assert widget._esm == source or str(widget._esm) == source
    assert [
        line
        for line in source.splitlines()
        if "http" in line and "www.w3.org/2000/svg" not in line
    ] == [] and "import " not in source.split("export function erfc")[0]


def test_an_unknown_start_is_refused():
    with pytest.raises(ValueError):
        density_explorer(
            {(0,): entry(next(iter(densities())))}, {"which": [0]}, (3,), SPAN, 2.0, "x"
        )
