"""The explorer's JavaScript computes what Python computes, the widget carries all it
needs and asks for nothing else, what it cannot draw is refused by name, and a film
shows what the sliders showed.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from node import in_node
from scipy.special import erfc, ndtr
from sklearn.datasets import load_diabetes

import rvamp_nb
from rvamp_nb import StabilitySelection, datasets, naive_bootstrap, p2, rvamp
from rvamp_nb.algorithm.densities import P1, P1Posterior, p1
from rvamp_nb.algorithm.iteration import run
from rvamp_nb.algorithm.messages import Natural
from rvamp_nb.algorithm.prior import ElasticNet, Laplace, NonNegative, Ridge, SpikeSlab
from rvamp_nb.algorithm.resampling import FixedFactor, NoResampling, TwoPoint
from rvamp_nb.algorithm.solver import with_clusters
from rvamp_nb.course import widgets
from rvamp_nb.course.widgets import diabetes_explorer, explore, refits_in_bytes
from rvamp_nb.exceptions import ConvergenceWarning

ROOMS = Path(rvamp_nb.__file__).parent / "course"
MODULE = ROOMS / "widgets.js"
TABLE = json.loads((ROOMS / "diabetes.json").read_text(encoding="utf-8"))


LAWS = [FixedFactor(), TwoPoint(2, 0.5), TwoPoint(3, 0.2)]


def random_densities(n, beta=np.inf):
    """Densities of every penalty that the explorer knows, and their messages."""
    rng = np.random.default_rng(0)
    for k in range(n):
        scale = 10 ** rng.uniform(-3, 3)  # of x
        numbers = rng.uniform(0.2, 5), rng.normal() * 3, rng.uniform(0.01, 3)
        units = scale**-2, 1 / scale, scale**-2
        message = Natural(*(np.float64(v * u) for v, u in zip(numbers, units)))
        lam, law = rng.uniform(0.1, 2) / scale, LAWS[k % 3]
        kinds = [Laplace(lam, law), NonNegative(lam, law)]
        if np.isinf(beta):
            kinds += [ElasticNet(lam, law, l1_ratio=0.7), Ridge(lam, law)]
        prior = kinds[k % len(kinds)]
        t, size = zip(*(case.split() for _, case in prior.cases()))
        found = dict(zip(("Q_hat", "h", "chi_hat"), map(float, message)))
        found |= dict(t=[float(v) for v in t], k=[float(v) for v in size])
        found["weights"] = [float(weight) for weight, _ in prior.cases()]
        found |= dict(positive=bool(prior.positive), beta=None, scale=float(scale))
        if np.isinf(beta):
            yield P1(prior, message), found
        else:
            cold = beta * float(rng.uniform(0.2, 5))
            yield P1Posterior(prior, message, cold), found | dict(beta=cold)


def test_the_error_function_has_full_precision():
    x = np.concatenate([np.linspace(-8, 8, 321), [2.9999999, 3.0, 25.0]])
    found = in_node("[x.map(js.erfc), x.map(js.Phi)]", x=x.tolist())
    np.testing.assert_allclose(found, [erfc(x), ndtr(x)], rtol=1e-11, atol=1e-15)


def test_two_hundred_densities_agree_with_python():
    """Those of each penalty, on scales from a thousandth to a thousand."""
    made, x = list(random_densities(200)), np.linspace(-3, 3, 31)
    q = np.array([0.002, 0.05, 0.3, 0.5, 0.95, 0.998])
    by_js = in_node(
        "ms.map((m) => [x.map((v) => js.pdf(m, v * m.scale) * m.scale),"
        " x.map((v) => js.cdf(m, v * m.scale)), [js.atom(m)],"
        " [js.moments(m).mean / m.scale, js.moments(m).variance / m.scale ** 2],"
        " q.map((each) => js.quantile(m, each) / m.scale),"
        " [js.atom(js.shifted(m, 0.75))]])",
        ms=[message for _, message in made],
        x=x.tolist(),
        q=q.tolist(),
    )
    for (density, message), found in zip(made, by_js, strict=True):
        scale, incoming = message["scale"], density.incoming
        moved = incoming._replace(h=incoming.h + 0.75 * incoming.chi_hat**0.5)
        wanted = [
            density.pdf(x * scale) * scale,
            density.cdf(x * scale),
            [density.atom],
            [density.mean / scale, density.var / scale**2],
            density.quantile(q) / scale,
            [P1(density.prior, moved).atom],
        ]
        for mine, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(mine, theirs, 1e-6, 1e-9, err_msg=str(message))


def test_posteriors_at_finite_temperatures_agree_with_python():
    made, x = list(random_densities(60, beta=2.0)), np.linspace(-3, 3, 31)
    by_js = in_node(
        "ms.map((m) => [x.map((v) => js.pdf(m, v * m.scale) * m.scale),"
        " [js.moments(m).mean / m.scale, js.moments(m).across / m.scale ** 2,"
        " js.moments(m).within / m.scale ** 2]])",
        ms=[message for _, message in made],
        x=x.tolist(),
    )
    for (density, message), (heights, found) in zip(made, by_js, strict=True):
        scale = message["scale"]
        theirs = density.prior.moments(density.incoming, density.beta)
        spread = theirs.var, theirs.chi / density.beta
        wanted = [theirs.mean / scale, *(v / scale**2 for v in spread)]
        np.testing.assert_allclose(found, wanted, 1e-6, 1e-9, err_msg=str(message))
        inside = x != 0 if message["positive"] else x < 9
        np.testing.assert_allclose(
            np.array(heights)[inside],
            (density.pdf(x * scale) * scale)[inside],
            1e-6,
            1e-9,
            err_msg=str(message),
        )


def test_a_byte_for_a_refit_keeps_zeros_signs_and_order():
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(500, 3)) * [1e-9, 1, 1e9]
    draws[rng.random((500, 3)) < 0.4] = 0
    codes, unit = refits_in_bytes(draws)
    assert codes.dtype == np.int8 and (np.sign(codes) == np.sign(draws.T)).all()
    size, cell = np.abs(draws.T) / unit[:, None], np.abs(codes)
    assert (size <= cell + 1e-9).all() and (size >= cell - 1 - 1e-9).all()
    middle = in_node(
        "codes.map((row, i) => row.map((c) => js.sizeOf(c, unit[i])))",
        codes=codes.tolist(),
        unit=unit.tolist(),
    )
    assert (np.abs(np.array(middle) - draws.T) <= 0.5001 * unit[:, None]).all()


def test_refits_are_summed_up_as_numpy_does():
    x = P1(Laplace(0.5), Natural(*np.array([1.3, 0.9, 0.6])))
    draws = x.sample(2000, np.random.default_rng(2))
    codes, unit = refits_in_bytes(draws[:, None])
    found = in_node(
        "(() => { const c = js.counted(codes); return js.summary(c, unit); })()",
        codes=codes[0].tolist(),
        unit=float(unit[0]),
    )
    assert found["n"] == 2000
    assert found["Pi"] == pytest.approx(np.mean(draws != 0))
    assert found["mean"] == pytest.approx(draws.mean(), abs=unit[0] / 2)
    assert found["sd"] == pytest.approx(draws.std(), rel=0.02)
    ends = np.quantile(draws, [0.05, 0.95], method="inverted_cdf")
    np.testing.assert_allclose([found["low"], found["high"]], ends, atol=unit[0])


def test_how_many_refits_a_curve_is_as_good_as():
    """Of a curve that is wrong by a known distance: there the theory of Kolmogorov
    says how many draws are on average so far away.
    """
    flat = P1(Ridge(1e-12), Natural(*np.array([1.0, 0.0, 1.0])))
    message = next(m for d, m in random_densities(4) if isinstance(d.prior, Ridge))
    message |= dict(Q_hat=1.0, h=0.25, chi_hat=1.0, t=[0.0], k=[0.0], weights=[1.0])
    draws = flat.sample(2000, np.random.default_rng(3))
    codes, unit = refits_in_bytes(draws[:, None])
    found = in_node(
        "js.equivalent(m, Int8Array.from(codes), unit)",
        m=message,
        codes=codes[0].tolist(),
        unit=float(unit[0]),
    )
    distance = 2 * ndtr(0.125) - 1
    assert found["distance"] == pytest.approx(distance, abs=0.03)
    assert found["n"] == pytest.approx((0.8687 / found["distance"]) ** 2, rel=0.3)


@pytest.fixture(scope="module")
def diabetes():
    """The data, and the penalty that cross-validation chooses."""
    data = datasets.load_diabetes()
    return data, datasets.choose_lambda(data.A, data.y)


DIABETES = """(() => {
    const data = js.unpack(table), place = { l: at[0], t: at[1], d: at[2] };
    return data.names.map((_, i) => { const m = data.message(place, i);
        return [js.atom(m), js.moments(m).mean, js.moments(m).variance]; });
})()"""


@pytest.mark.parametrize("at", [(13, 1, 0), (0, 1, 0), (23, 1, 0), (10, 2, 1)])
def test_what_is_kept_of_the_diabetes_data_is_what_the_package_computes(at, diabetes):
    data, chosen = diabetes
    shown = [list(data.names).index(name) for name in TABLE["names"]]
    lam = chosen * 1.2 ** (at[0] - 13)
    prior = Laplace(lam, None if at[2] else TwoPoint())
    counts = rvamp_nb.Poisson((0.25, 0.5, 1.0)[at[1]])
    fit = rvamp(data.A, data.y, prior=prior, resampling=counts)
    found = np.array(in_node(DIABETES, table=TABLE, at=at))
    wanted = [1 - fit.Pi[shown], fit.mean[shown], fit.var[shown]]
    np.testing.assert_allclose(found.T, wanted, rtol=1e-5, atol=1e-9)
    if at[1:] == (1, 0):
        covariance = in_node(
            "(() => { const data = js.unpack(table), n = data.n;"
            " return table.names.map((_, a) => table.names.map((_, b) =>"
            " data.second(l, a, b).covariance[1])); })()",
            table=TABLE,
            l=at[0],
        )
        wanted = p2(fit, shown).covariance
        np.testing.assert_allclose(covariance, wanted, rtol=1e-5, atol=1e-6)


def test_the_refits_that_are_kept_are_naive_refits(diabetes):
    data, lam = diabetes
    shown = [list(data.names).index(name) for name in TABLE["names"]]
    asked = dict(n_resamples=2000, random_state=13, keep=shown, verbose=False)
    asked["prior"] = Laplace(lam, TwoPoint())
    codes, unit = refits_in_bytes(naive_bootstrap(data.A, data.y, **asked).draws)
    kept = in_node(
        "(() => { const data = js.unpack(table); return table.names.map((_, i) => {"
        " const r = data.refits({l: 13, t: 1, d: 0}, i);"
        " return [[...r.codes.slice(0, 50)], r.unit]; }); })()",
        table=TABLE,
    )
    for (first, size), code, each in zip(kept, codes, unit, strict=True):
        assert size == pytest.approx(each, rel=1e-4)
        assert np.mean(np.abs(np.array(first) - code[:50]) <= 1) > 0.95


def test_the_last_step_and_the_coldest_posterior_are_the_fit():
    found = in_node(
        "(() => { const data = js.unpack(table), S = data.deltas.length;"
        " const usual = { l: data.start[0], ...data.usual };"
        " return data.names.map((_, i) => { const { message, mean, variance } ="
        " data.step(S - 1, i); return [js.moments(message), { mean, variance },"
        " js.moments(data.tempered(data.betas.length - 1, i)),"
        " js.moments(data.message(usual, i))].map((v) => [v.mean, v.variance]); });"
        "})()",
        table=TABLE,
    )
    for *others, wanted in found:
        for each in others:
            np.testing.assert_allclose(each, wanted, rtol=2e-4, atol=1e-3)


def test_the_panels_are_small():
    assert len(json.dumps(TABLE)) < 300_000
    assert len(TABLE["lams"]) >= 24 and len(TABLE["refits"]["stops"]) >= 6
    assert TABLE["refits"]["B"] == 2000
    assert set(TABLE["questions"]) == set(TABLE["panels"])
    assert all(2 <= len(each) <= 3 for each in TABLE["questions"].values())


def test_the_numbers_of_the_answers():
    data = in_node(
        "(() => { const data = js.unpack(table), r = (l, [a, b]) => {"
        " const c = data.second(l, a, b).covariance;"
        " return c[1] / Math.sqrt(c[0] * c[2]); };"
        " return [r(0, [8, 9]), data.names.map((_, i) => 1 -"
        " js.atom(data.message({l: 23, t: 1, d: 0}, i)))]; })()",
        table=TABLE,
    )
    assert data[0] == pytest.approx(-0.29, abs=0.006)  # the twins s1 and s2
    assert min(data[1][:2]) > 0.4 and max(data[1][3:]) < 0.08  # bmi and s5 stay
    assert data[1][2] == pytest.approx(0.11, abs=0.005)  # bp
    # of s3 and s4, then of s1 and s2: the share of refits, and the two atoms
    [both, *atoms], [one, p, q] = in_node(
        "(() => { const data = js.unpack(table), share = (at, names, counts) => {"
        " const [a, b] = names.map((i) => data.refits(at, i).codes);"
        " return [a.filter((c, k) => counts(c === 0, b[k] === 0)).length / a.length,"
        " ...names.map((i) => js.atom(data.message(at, i)))]; };"
        " return [share({l: 13, t: 1, d: 0}, [3, 7], (x, y) => x && y),"
        " share({l: 0, t: 1, d: 0}, [8, 9], (x, y) => x !== y)]; })()",
        table=TABLE,
    )
    assert both == pytest.approx(0.21, abs=0.006)  # s3 and s4, of chapter 3.7
    assert np.prod(atoms) == pytest.approx(0.28, abs=0.006)
    by_p1 = p * (1 - q) + q * (1 - p)
    assert [one, by_p1] == pytest.approx([0.81, 0.49], abs=0.006)  # exactly one twin
    diabetes = datasets.load_diabetes()
    s1, s2 = (list(diabetes.names).index(name) for name in ("s1", "s2"))
    columns = np.corrcoef(diabetes.A[:, [s1, s2]].T)[0, 1]
    assert columns == pytest.approx(0.9, abs=0.005) == TABLE["columns"][8][9]


LAWS_OF = """(() => { const data = js.unpack(table);
    return at.map(([l, t, d, i]) => { const m = data.message({ l, t, d }, i);
        return [js.atom(m), Math.sqrt(js.moments(m).variance)]; });
})()"""


def test_the_answers_on_what_moves_the_atoms():
    def of(*places):
        names = [(*at[:-1], TABLE["names"].index(at[-1])) for at in places]
        return np.array(in_node(LAWS_OF, table=TABLE, at=names)).T

    names = TABLE["names"]
    every = of(*((l, 1, 0, name) for name in names for l in range(24)))[0]
    every = every.reshape(-1, 24)
    falls = [name for name, a in zip(names, every) if np.diff(a).min() < -1e-3]
    assert falls == ["s3", "s4"]
    by_name = dict(zip(names, np.round(100 * every)))
    assert [by_name["s3"][0], by_name["s3"].min()] == [15, 11]
    lam = np.array([float(name) for name, _ in TABLE["lamNames"]])
    stays = by_name["s4"][(lam > 27.9) & (lam < 146)]
    assert len(stays) == 10 and set(stays) <= {70, 71}
    first = [name for name in by_name if by_name[name][13] >= 96]
    assert first == ["s1", "s2"] and lam[13] == 58.3
    four = ["bmi", "s5", "bp", "s3"]
    six, ways = [*four, "age*sex", "s4"], ((1, 0), (1, 1), (2, 0))
    laws = of(*((13, t, d, name) for t, d in ways for name in six))
    usual, fixed, larger = laws.reshape(2, 3, 6).swapaxes(0, 1)
    assert (fixed[1][:4] < usual[1][:4]).all() and (larger[1][:4] < usual[1][:4]).all()
    assert fixed[1][4] > usual[1][4] and larger[1][4] > usual[1][4]  # age*sex
    np.testing.assert_allclose([usual[0][5], fixed[0][5]], [0.71, 0.82], atol=5e-3)


def test_two_humps_are_the_two_penalties_that_are_drawn():
    heights = in_node(
        "(() => { const data = js.unpack(table); return [0, 1].map((d) =>"
        " [...Array(41).keys()].map((k) =>"
        " js.pdf(data.message({l: 16, t: 1, d}, 0), 20 * k))); })()",
        table=TABLE,
    )
    turns = [int((np.diff(np.sign(np.diff(h))) < 0).sum()) for h in heights]
    assert turns == [2, 1] and TABLE["lamNames"][16][0] == "101"  # of bmi


def test_how_many_refits_one_run_is_as_good_as():
    names = ["s3", "s4"]
    found = in_node(
        "[[13, 3], [13, 7], [0, 3]].map(([l, i]) => { const data = js.unpack(table), at"
        " = {l, t: 1, d: 0}, {codes, unit} = data.refits(at, i);"
        " return Math.min(js.equivalent(data.message(at, i), codes, unit).n, 1e9); })",
        table=TABLE,
    )
    assert [TABLE["names"][i] for i in (3, 7)] == names
    assert found[0] >= 1000
    assert found[1:] == pytest.approx([850, 370], rel=0.02)


def test_the_density_at_a_low_temperature_shows_no_single_posterior():
    """It has one bend more at most than the density at infinite beta."""
    shapes = in_node(
        "(() => { const data = js.unpack(table); return [3, 4, 5, 6, 7].map((b) =>"
        " [...Array(241).keys()].map((k) => js.pdf(data.tempered(b, 0), 4 * k))); })()",
        table=TABLE,
    )
    for heights in shapes:
        heights = np.array(heights)
        bends = np.diff(np.sign(np.diff(heights[heights > 1e-3 * heights.max()])))
        assert (bends < 0).sum() == 1


def test_the_widget_carries_its_table_and_reaches_for_nothing():
    widget = diabetes_explorer(["one"])
    assert widget.table["panels"] == ["one"]
    source = MODULE.read_text(encoding="utf-8")
    assert str(widget._esm) == source and "import " not in source
    assert "http" not in source.replace("http://www.w3.org/2000/svg", "")


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(40, 6)) / 40**0.5
    return A, A[:, 0] * 3 + 0.3 * rng.normal(size=40)


def test_any_fit_is_explored_on_the_scale_that_is_asked_for(small):
    fit = rvamp(*small, 0.1)
    names, unit = list("abcdef"), np.linspace(1, 2, 6)
    table = explore(fit, names, shown=["b", "a"], unit=unit).table
    assert table["names"] == ["b", "a"] and len(table["lams"]) == 24
    assert table["panels"] == TABLE["panels"] and "refits" not in table
    found = np.array(in_node(DIABETES, table=table, at=table["start"])).T
    chosen, c = [1, 0], unit[[1, 0]]
    wanted = [1 - fit.Pi[chosen], fit.mean[chosen] * c, fit.var[chosen] * c**2]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "prior, beta", [(NonNegative(0.1), np.inf), (ElasticNet(0.1), 4.0)]
)
def test_other_penalties_and_temperatures_are_drawn_as_they_are(small, prior, beta):
    fit = rvamp(*small, prior=prior, beta=beta)
    table = explore(fit).table
    found = np.array(in_node(DIABETES, table=table, at=table["start"])).T
    d = p1(fit)
    np.testing.assert_allclose(found[1:], [d.mean, d.var], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found[0], d.atom, atol=1e-9)


def test_penalties_that_empty_the_model_take_few_steps(small, monkeypatch):
    steps = []

    def counted(*args):
        found = run(*args)
        steps.append(len(found.trace))
        return found

    monkeypatch.setattr(widgets, "run", counted)
    table = explore(rvamp(*small, 3.0)).table
    assert 13 <= len(table["lams"]) <= 24 and max(steps) <= 60
    assert len(table["betas"]) == 9


def test_refits_that_are_given_stand_at_the_fits_penalty(small):
    fit = rvamp(*small, 0.1)
    draws = np.arange(12.0).reshape(6, 2)
    table = explore(fit, shown=[0, 1], refits=draws).table
    assert table["refits"]["stops"] == [table["start"][0]]
    assert table["refits"]["B"] == 6


def test_an_estimator_is_explored_by_its_names_on_the_scale_of_the_table():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    selector = StabilitySelection(n_resamples=0).fit(X, y)
    table = selector.explore(["bmi", "s1", "s5"]).table
    assert table["names"] == ["bmi", "s1", "s5"]
    at = [list(X.columns).index(name) for name in table["names"]]
    found = np.array(in_node(DIABETES, table=table, at=table["start"])).T
    wanted = 1 - selector.probabilities_, selector.coef_mean_, selector.coef_std_**2
    np.testing.assert_allclose(found, np.array(wanted)[:, at], rtol=1e-4, atol=1e-9)
    with pytest.raises(TypeError, match="be a Fit, got Stab.* has a method explore"):
        explore(selector)
    assert len(selector.explore().table["names"]) == 10
    with pytest.raises(ValueError, match="'agee', which is no .*did you mean 'age'"):
        selector.explore(["bmi", "agee"])


@pytest.fixture(scope="module")
def copied():
    """A selector whose column x1 is -2 times x0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X[:, 1] = -2 * X[:, 0]
    y = 3 * X[:, 3] - 2 * X[:, 0] + rng.normal(size=60)
    with pytest.warns(UserWarning, match="x0, x1 are the same up to sign"):
        return StabilitySelection(n_resamples=0, verbose=0).fit(X, y)


@pytest.mark.parametrize(
    "shown, names", [([3, 4], ["x3", "x4"]), (["x1", 3], ["x1", "x3"])]
)
def test_numbers_are_those_of_the_table_though_near_copies_shift_others(
    copied, shown, names
):
    table = copied.explore(shown).table
    assert table["names"] == names
    found = np.array(in_node(DIABETES, table=table, at=table["start"])).T
    d = p1(copied, names)
    np.testing.assert_allclose(found, [d.atom, d.mean, d.var], rtol=1e-4, atol=1e-9)


def test_what_names_no_column_of_the_table_is_refused(copied):
    assert copied.explore().table["names"] == ["x3", "x0", "x2", "x4"]
    for kind, words, shown in [
        (ValueError, "'zz', which is no column of X", ["zz", "x0"]),
        (ValueError, "-1, which is no column of X", [0, -1]),
        (ValueError, "x0 and x1 are near copies, taken as one", ["x0", "x3", "x1"]),
        (ValueError, "two columns or more, each once", ["x3", "x3"]),
        (ValueError, "two columns or more", "x3"),
    ]:
        with pytest.raises(kind, match=words):
            copied.explore(shown)


def test_what_cannot_be_explored_is_refused_by_name(small):
    fit = rvamp(*small, 0.1)
    with pytest.warns(ConvergenceWarning):
        early = rvamp(*small, 0.1, max_iter=2)
    still = rvamp(*small, prior=Laplace(0.1), resampling=NoResampling())
    names = ["age", "bmi", "sex", "s1", "s2", "s3"]
    for kind, words, call in [
        (ValueError, "has not converged", lambda: explore(early)),
        (
            ValueError,
            "there is no column 'bni'; did you mean 'bmi'",
            lambda: explore(fit, names, shown=["age", "bni"]),
        ),
        (
            ValueError,
            "there is no column 'qqq'$",
            lambda: explore(fit, names, shown=["age", "qqq"]),
        ),
        (
            ValueError,
            "two columns or more, each once",
            lambda: explore(fit, shown=[5, -1]),
        ),
        (ValueError, "5 names for 6 columns", lambda: explore(fit, names[:5])),
        (
            ValueError,
            "shown must name two columns or more, each once",
            lambda: explore(fit, names, shown=["age", "age"]),
        ),
        (
            ValueError,
            "refits must have shape .B, 2., got .6, 3.",
            lambda: explore(fit, names, shown=[0, 1], refits=np.ones((6, 3))),
        ),
        (IndexError, "there are 6 coefficients", lambda: explore(fit, shown=[0, 9])),
        (ValueError, "do not vary", lambda: explore(still)),
        (
            ValueError,
            "columns in clusters",
            lambda: explore(with_clusters(rvamp(*small, 0.1), [[0, 1]])),
        ),
        (
            TypeError,
            "no penalty to move in SpikeSlab",
            lambda: explore(rvamp(*small, prior=SpikeSlab(0.1, 1.0), beta=1.0)),
        ),
        (TypeError, "must be a Fit, got 3; a selector has", lambda: explore(3)),
    ]:
        with pytest.raises(kind, match=words):
            call()
