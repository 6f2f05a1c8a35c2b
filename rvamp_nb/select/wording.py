"""The methods paragraph of a report, and the facts about an answer, in sentences.

A referee wants to know what was done, with numbers and references. The paragraph is
written from the settings of the fit and nothing else: each sentence is chosen by what
happened, and where nothing converged the paragraph says so. It names the table and the
model (a loss or a penalty of one's own by its name), the resamples and the method, then
the choice, the promise, and what speaks against it. `facts` has the same in short
sentences, each with its label, for the screen and for a notebook.

>>> from rvamp_nb import StabilitySelection, datasets
>>> from rvamp_nb.select.wording import facts, methods_text
>>> data = datasets.gaussian_design(60, 30, density=0.1, noise=0.1, seed=1)
>>> s = StabilitySelection(n_resamples=0, verbose=0).fit(data.A, data.y).selection_
>>> sentences = methods_text(s).split(". ")
>>> sentences[1]
'The table had 60 rows and 30 columns, of which 30 could be selected'
>>> sentences[2]
'The model was a linear regression with an L1 penalty (Lasso)'
>>> dict(facts(s))["data"]
'60 rows, 30 features'
"""

import platform

import numpy as np
import scipy

import rvamp_nb

from ..algorithm.likelihood import LOSSES
from ..algorithm.prior import ElasticNet
from ..algorithm.resampling import Grouped, Poisson, Stratified, Subsample
from ..sketch import GRADES
from ..validation import format_list
from . import error_control
from .readers import printable

__all__ = [
    "candidates",
    "leaders_of",
    "size_reported",
    "size_selected",
    "promised",
    "number_of",
    "listed",
    "stability_words",
    "versions_used",
    "methods_text",
    "facts",
    "grades_of",
    "why_no_effects",
    "effects_text",
]


def candidates(selection):
    """Return the columns of the table that can be selected, (n,); of near copies the
    first.
    """
    return selection.question.columns.first[selection.question.candidates]


def leaders_of(selection, most):
    """Return the candidates with the largest probabilities, at most `most` of them."""
    if not selection.fit.converged:
        most = 0
    columns = candidates(selection)
    return columns[np.argsort(-selection.probabilities[columns], kind="stable")][:most]


def size_reported(selection):
    """Return the mean number of candidates selected in a resample, ΣΠ."""
    return float(selection.probabilities[candidates(selection)].sum())


def size_selected(selection):
    """Count the candidates that reach the threshold."""
    return int(selection.support[candidates(selection)].sum())


def promised(selection, margin=""):
    """Write how many features a `Selection` has and what it promises, such as "7
    features selected; expected false selections ≤ 0.5".

    The text `margin`, on how far these are from the threshold, follows "selected".
    """
    if not selection.fit.converged:
        return "no answer: nothing is selected"
    n_selected = size_selected(selection)
    noun = selection.question.columns.feature
    if n_selected == 0:
        return f"no {noun}s selected{margin}"
    if n_selected > 1:
        noun += "s"
    text = f"{n_selected} {noun} selected{margin}"
    if np.isnan(selection.pfer_bound):
        return f"{text}; no bound on false selections holds here"
    text += f"; expected false selections ≤ {selection.pfer_bound:.2g}"
    asked = selection.asked
    if asked["pfer"] is not None:
        text += f" (asked for {asked['pfer']:g})"
    elif asked["q"] is None and asked["lambdas"] is None:
        text += f" (default: {error_control.DEFAULT_PFER:g})"
    return text


def number_of(n, noun):
    """Write a number, with thousands apart, and a noun, in the plural unless n is 1."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(names, most=4):
    """Write the first names, and dots for the others."""
    return format_list(names, range(len(names)), most)


def stability_words(selection):
    """Explain the stability index, in two digits; "" where there is none."""
    if np.isnan(selection.stability):
        return ""
    error = ""
    if not np.isnan(selection.stability_se):
        error = f" ± {selection.stability_se:.1g}"
    grade = "medium"
    if selection.stability < 0.4:
        grade = "low"
    if selection.stability > 0.75:
        grade = "high"
    return (
        f"{selection.stability:.2f}{error}: {grade} agreement of the lists of resamples"
        " (0: as by chance, 1: all are the same; Nogueira et al. 2018)"
    )


def _table_sentences(selection):
    """Yield sentences on the size of the table, columns that depend on each other,
    covariates, and columns that were set aside.
    """
    columns = selection.question.columns
    kinds = list(columns.kind)
    # near copies share the column of the fit that stands for them; so do the columns of
    # a group, whose number is 0 or more, which are no copies
    stand_ins = columns.where[columns.group < 0]
    n_copies = len(stand_ins) - len(np.unique(stand_ins))
    n_rows = number_of(len(selection.question.target.y), "row")
    n_candidates = f"{selection.question.candidates.sum():,}"
    selectable = f", of which {n_candidates} could be selected"
    if columns.groups:
        selectable = (
            f"; {n_candidates} groups, a single column being one, could be selected as"
            " wholes"
        )
    yield (
        f"The table had {n_rows} and {number_of(len(columns.names), 'column')}"
        f"{selectable}."
    )
    if columns.dependent:
        yield (
            f"The columns of {listed(columns.dependent, 8)} are linearly dependent; the"
            " penalty counts what they span."
        )
    unpenalised = columns.names[columns.kind == "covariate"]
    if len(unpenalised):
        yield f"Kept in every model without a penalty were: {listed(unpenalised, 8)}."
    set_aside = {
        "left out as constant": kinds.count("constant"),
        "left out as explained by the unpenalised ones": kinds.count("explained"),
        "taken as one with others, of which near copies, up to sign": n_copies,
    }
    for reason, n in set_aside.items():
        if n:
            verb = "was" if n == 1 else "were"
            yield f"{number_of(n, 'column')} {verb} {reason}."


# by loss: the model, the quantity that a coefficient changes, the intercept's treatment
_MODELS = {name: kind.model for name, kind in LOSSES.items()}
_MODELS["survival"] = "Cox's proportional-hazards model"
_MODELS["softmax"] = "a multinomial logistic regression"
_CHANGES = {
    "poisson": "the log of the expected count",
    "survival": "the log hazard",
    "logistic": "the log odds of success",  # of trials; a class has its name
    "softmax": "the log probability of its class, less the mean over the classes,",
}
_INTERCEPT_OF_LOSS = {  # what stands beside the columns, where it is not `_INTERCEPT`
    "squared": "the target was centred",
    "survival": "the shape of the baseline hazard was held fixed and its level"
    " refitted",
    "softmax": "an unpenalised intercept of each class was refitted in every resample",
}
_INTERCEPT = "an unpenalised intercept was refitted in every resample"
_OF_CLASSES = (
    "a penalty of the length of each feature's coefficients, one for each class (group"
    " Lasso; Yuan and Lin, 2006; Simon, Friedman and Hastie, 2013)"
)


def _model_name(target):
    """Name the model, with its article."""
    if target.baseline is not None and target.baseline.strata is not None:
        n_strata = len(np.unique(target.baseline.strata))
        if target.is_conditional():
            return f"a conditional logistic regression in {n_strata} matched sets,"
        return f"a stratified Cox model, one baseline in each of {n_strata} strata,"
    name = _MODELS.get(target.loss, f"a regression with the loss {target.loss}")
    return name if target.intercept else f"{name} without an intercept"


def _named_classes(target, most=1000):
    """Name the classes; of two, first the one that is modelled."""
    names = [printable(label, most) for label in target.classes]
    if target.loss != "softmax":
        return f" of class {names[1]} against {names[0]}"
    return f" of the classes {', '.join(names)}"


def _penalty_name(selection):
    """Name the penalty, with its article."""
    prior = selection.question.prior
    if selection.question.target.loss == "softmax":
        if not selection.question.columns.groups:
            return _OF_CLASSES
        name = _OF_CLASSES.replace("feature's coefficients,", "group's coefficients,")
        return name.replace("each class", "each column and class")
    if isinstance(prior, ElasticNet):
        l1_ratio = selection.asked["prior"].l1_ratio
        return f"an elastic-net penalty (share of L1 {l1_ratio:g})"
    return prior.plain.model or f"the penalty {type(prior.plain).__name__}"


def _model_sentences(selection):
    """Yield sentences on the model, its penalty, the scale of its columns, and the
    roles of its rows.
    """
    target = selection.question.target
    baseline = target.baseline  # of survival times, else None
    name = _model_name(target)
    if target.loss == "huber":
        name += f" (quadratic up to {target.likelihood.plain.delta:.3g})"
    if baseline is not None:
        name += f" of {int(np.sum(baseline.event)):,} events"
    if target.classes is not None:
        name += _named_classes(target)
    yield f"The model was {name} with {_penalty_name(selection)}."
    intercept = _INTERCEPT_OF_LOSS.get(target.loss, _INTERCEPT)
    if baseline is not None and baseline.strata is not None:
        intercept = f"centred again in each stratum; {intercept}"
    if target.intercept:
        yield f"Columns were centred and scaled to unit norm, and {intercept}."
    else:
        yield "Columns were scaled to unit norm, and not centred."
    if baseline is not None and baseline.entry is not None:
        yield "Each row was at risk from its entry on (left truncation)."
    yield from _factor_sentences(selection.question)
    if target.rows.weight is not None:
        yield "Rows were weighted, in the standardisation of the columns, too."
    if target.rows.offset is not None:
        yield "Each row had a known offset."


def _factor_sentences(question):
    """Write sentences on fixed and random factors of the penalties, if any."""
    prior = question.prior
    factors = prior.penalty_factor[question.candidates]
    # factors that are all equal only change the unit of the penalty
    if np.ptp(factors) > 1e-12 * factors.max():
        yield (
            f"Penalties were multiplied by factors from {factors.min():.3g} to"
            f" {factors.max():.3g}."
        )
    multipliers, _ = prior.randomize.nodes()
    if len(multipliers) > 1:
        yield f"Penalties were multiplied at random, by {prior.randomize!r}."


def _accuracy(refined):
    """Describe how accurate a `RefinedFit` is."""
    if np.isinf(refined.equivalent_refits):
        return "without any sampling error"
    return f"as accurate as {refined.equivalent_refits:,.0f} refits without rVAMP"


def _law(law, n, unit="rows"):
    """Describe how resamples of n units were drawn, such as "half of the 60 rows, drawn
    without replacement", from the law of their counts.

    The law of rows in groups (`Grouped`) holds that of the groups, and the law of
    strata (`Stratified`) that inside each stratum: these are described in their place.
    """
    if type(law) is Grouped:
        n_groups = len(law.names)
        # of groups in strata those without a row that has a weight are in none, which
        # is numbered last
        if type(law.of_groups) is Stratified:
            in_strata = law.of_groups.index < len(law.of_groups.names)
            n_groups = np.count_nonzero(in_strata)
        return f"{_law(law.law, n_groups, 'groups')} (whole groups of rows)"
    if type(law) is Stratified:
        text = _law(law.law, n, unit)
        if len(law.names) > 1:  # one stratum is no stratification
            text += f", in each of {len(law.names)} strata by itself"
        return text
    if type(law) is Subsample:
        share = "half" if law.tau == 0.5 else f"a share of {law.tau:g}"
        return f"{share} of the {n:,} {unit}, drawn without replacement"
    if type(law) is Poisson:
        return (
            f"each of the {n:,} {unit} taken a Poisson number of times (mean"
            f" {law.tau:g})"
        )
    return f"counts of the {n:,} {unit} by the law {law!r}"


def _method_sentences(selection):
    """Yield sentences on the method: resampling and rVAMP, always; that refits found
    the penalty, how refits were combined with rVAMP, and decoys, where this was so; and
    what coefficients are.
    """
    target = selection.question.target
    law = _law(selection.question.counts, target.n_rows)
    differs = "coefficient differs"
    if selection.question.columns.K > 1:
        differs = "coefficients differ"
    yield (
        "The selection probability Π of a feature is the probability that its"
        f" {differs} from zero in a resample ({law}). Π was computed by"
        " replicated vector approximate message passing (rVAMP; Takahashi and"
        " Kabashima, 2019), a deterministic iteration that approximates the"
        " distribution of the penalised estimate over all resamples"
        f" ({number_of(int(selection.n_iter), 'step')}, tolerance"
        f" {selection.question.tol:g})."
    )
    if selection.by_refits:
        yield "Its coupling was taken as diagonal: refits led by it give λ and Π alone."
    refined = selection.refined
    if refined is not None:
        failed = ""
        if refined.n_failed:
            failed = f" ({refined.n_failed} more failed)"
        yield (
            "By multilevel Monte Carlo (Giles, 2015), this was combined with"
            f" {number_of(refined.n_resamples, 'real refit')} at the reported penalty,"
            f" of which {refined.n_exact} were solved to full precision and the others"
            f" until no coefficient changed its sign{failed}. The result is"
            f" {_accuracy(refined)}; 95 % intervals of Π extend by 1.96 standard errors"
            " to each side."
        )
    if selection.decoys:
        yield (
            "For q-values, which take noise as exchangeable, each feature met a decoy"
            f" ({selection.decoys}; Barber and Candès, 2015)."
        )
    yield (
        "Coefficients are shrunken: means and standard deviations over resamples on the"
        " scale of the table; the 90 % intervals describe that spread and are not"
        " confidence intervals."
    )


_ASSUMPTIONS = {
    "mb": "the bound of Meinshausen and Bühlmann (2010), which assumes independent {},"
    " exchangeable noise features and a selection no worse than guessing",
    "unimodal": "the bound of Shah and Samworth (2013), which assumes independent {}"
    " and unimodality and counts features selected with a chance of at most q / p",
    "gaussian": "the bound for normal fields, which assumes independent {}, none of"
    " which makes much of a feature's field, and counts features selected with a chance"
    " of at most q / p",
}


def _scales(selection):
    """Write the penalty in the units of other packages, in brackets, and how it was
    chosen, or "".
    """
    scales = []
    for name, lam in selection.lambda_scales.items():
        if name.startswith(("glmnet", "scikit")):
            scales.append(f"{name} {lam:.4g}")
    text = ""
    if scales:
        text = f" ({', '.join(scales)})"
    if selection.asked.get("by_cv"):
        text += ", chosen by ten-fold cross-validation"
    return text


def _choice_sentences(selection):
    """Yield sentences on the penalty, the threshold, the selection and its bound; one
    alone where no penalty gave an answer. A status other than "converged" says what is
    not as asked for.
    """
    status = selection.status
    if not selection.fit.converged:
        yield f"No penalty gave an answer ({status}), and nothing was selected."
        return
    noun = selection.question.columns.feature
    yield (
        f"At the penalty λ = {selection.lam:.4g}{_scales(selection)}, a resample"
        f" selects {size_reported(selection):.3g} {noun}s on average (the aim was q ="
        f" {selection.q:.3g})."
    )
    if status != "converged":
        yield f"The request could not be met in full: {status}."
    n_selected = size_selected(selection)
    number = number_of(n_selected, noun) if n_selected else f"no {noun}"
    yield f"The threshold Π ≥ {selection.threshold:.3g} selected {number}."
    if selection.undecided is not None and selection.undecided.any():
        undecided = selection.question.columns.called(selection.undecided)
        yield f"Within two standard errors of this threshold: {listed(undecided, 8)}."
    yield f"The expected number of false selections is {_write_limit(selection)}."
    words = stability_words(selection)
    if words:
        # in a sentence the grade follows a comma
        yield f"The stability index was {words.replace(':', ',', 1)}."


def _write_limit(selection):
    """Write the bound on false selections, and what it assumes."""
    bound = selection.pfer_bound
    if not bound >= 0:  # nan
        return "not bounded for these resamples"
    units = f"{selection.diagnostics.unit}s"
    assumption = _ASSUMPTIONS[selection.asked["bound"]].format(units)
    return f"at most {bound:.2g}, by {assumption}"


def _reliability_sentences(selection):
    """Write sentences on the convergence and the reliability of the answer."""
    diagnostics = selection.diagnostics
    converged = selection.path.converged
    if len(converged) > 1 or not converged.all():
        yield (
            f"The iteration converged at {converged.sum()} of {len(converged)}"
            " penalties."
        )
    if selection.fit.converged:
        # a reason is what is wrong, a colon, and an advice, which is left out here
        reasons = [text.partition(": ")[0] for text in diagnostics.reasons]
        reasons.append(
            f"the result varies as with {diagnostics.effective_rows:.0f}"
            f" {diagnostics.unit}s"
        )
        yield (
            "The package rates the reliability of Π by rVAMP alone as"
            f" {GRADES[diagnostics.reliability]} ({'; '.join(reasons)}), and that of"
            f" standard deviations as {GRADES[diagnostics.spread_reliability]}."
        )
    if diagnostics.repeated:
        yield (
            f"{number_of(len(diagnostics.repeated), 'group')} of rows looked like"
            " repeats of each other."
        )


_REFERENCES = (
    "Barber RF, Candès EJ (2015). Controlling the false discovery rate via knockoffs."
    " Annals of Statistics 43, 2055–2085.",
    "Giles MB (2015). Multilevel Monte Carlo methods. Acta Numerica 24, 259–328.",
    "Meinshausen N, Bühlmann P (2010). Stability selection. Journal of the Royal"
    " Statistical Society B 72, 417–473.",
    "Nogueira S, Sechidis K, Brown G (2018). On the stability of feature selection"
    " algorithms. Journal of Machine Learning Research 18(174), 1–54.",
    "Shah RD, Samworth RJ (2013). Variable selection with error control: another look"
    " at stability selection. Journal of the Royal Statistical Society B 75, 55–80.",
    "Simon N, Friedman J, Hastie T (2013). A blockwise descent algorithm for"
    " group-penalized multiresponse and multinomial regression. arXiv:1311.6529.",
    "Takahashi T, Kabashima Y (2019). Replicated vector approximate message passing for"
    " resampling problem. arXiv:1905.09545.",
    "Yuan M, Lin Y (2006). Model selection and estimation in regression with grouped"
    " variables. Journal of the Royal Statistical Society B 68, 49–67.",
)


def versions_used():
    """List the versions of the packages, {package: number}."""
    return {
        "rvamp_nb": rvamp_nb.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def methods_text(selection, done=()):
    """Write the methods paragraph of a paper, with every number of a `Selection`, and
    its references, as Markdown.

    `done` are sentences about what was done to the table before.
    """
    software = "rvamp_nb {rvamp_nb} (Python {python}, NumPy {numpy}, SciPy {scipy})"
    software = software.format(**versions_used())
    method = "stability selection (Meinshausen and Bühlmann, 2010)"
    sentences = [f"Features were selected by {method} with {software}."]
    sentences += _table_sentences(selection)
    if done:
        sentences.append(f"The table had been prepared: {'; '.join(done)}.")
    sentences += _model_sentences(selection)
    sentences += _method_sentences(selection)
    sentences += _choice_sentences(selection)
    sentences += _reliability_sentences(selection)
    text = " ".join(sentences)
    # a reference is listed if the text names its first author
    references = [line for line in _REFERENCES if line.split()[0] in text]
    references = "\n\n".join(references)
    return f"## Methods\n\n{text}\n\n## References\n\n{references}\n"


def _change(target):
    """Name the quantity that a coefficient changes."""
    if target.loss == "logistic" and target.classes is not None:
        return f"the log odds of {printable(target.classes[1], 30)}"
    if target.is_conditional():
        return "the log odds of the event"
    return _CHANGES.get(target.loss, "the target")


def facts(selection, name="", done=()):
    """Yield the settings and the results of a `Selection` as pairs of a label and a
    sentence, such as ("data", "60 rows, 30 features").

    The table is called `name`; `done` are sentences about what was done to it before.
    """
    target = selection.question.target
    columns = selection.question.columns
    yield "data", "; ".join([_size_of_table(selection, name)] + list(done))
    yield (
        "model",
        f"{_short_model_name(target)}; a coefficient is the change of"
        f" {_change(target)} per unit of its column",
    )
    unpenalised = columns.names[columns.kind == "covariate"]
    if len(unpenalised):
        yield "always in", listed([printable(label) for label in unpenalised])
    if selection.fit.converged:
        yield from _facts_of_the_choice(selection)
    yield "refits", _describe_refits(selection)
    stability = stability_words(selection)
    if stability:
        yield "stability", stability


def _size_of_table(selection, name):
    """Write how many rows and features the table `name` has."""
    columns = selection.question.columns
    n_rows = number_of(len(selection.question.target.y), "row")
    if name:
        n_rows = f"{printable(name)}: {n_rows}"
    size = [n_rows, number_of(len(columns.names), "feature")]
    if columns.groups:
        size.append(f"{number_of(len(columns.groups), 'group')} of several")
    n_constant = np.count_nonzero(columns.kind == "constant")
    if n_constant:
        size.append(f"{n_constant:,} of them constant")
    return ", ".join(size)


def _short_model_name(target):
    """Name the model in fewer words than `_model_name`, without its article."""
    name = _model_name(target).rstrip(",")
    name = name.removeprefix("a ")
    name = name.removeprefix("regression with ")
    if target.classes is not None:
        name += _named_classes(target, 30)
    return name


def _describe_refits(selection):
    """Describe the refits of a `Selection`, or why there are none."""
    refined = selection.refined
    if refined is None:
        return selection.refit_error or "none: rVAMP computes Π without them"
    # the status counts those to full precision in brackets
    text = refined.status.replace(
        " precision)", " precision, the others until no coefficient changed its sign)"
    )
    if not selection.by_refits:
        text += "; together with rVAMP, which computes Π without refits"
    return f"{text}, {_accuracy(refined)}; random seed {selection.seed()}"


def _facts_of_the_choice(selection):
    """Yield penalty, threshold, resamples and, if it is high, the limit on false
    selections, a label and a sentence each.
    """
    average = (
        f"{size_reported(selection):.3g} {selection.question.columns.feature}s on"
        f" average (aimed at: q = {selection.q:.3g})"
    )
    prior = type(selection.question.prior.plain).__name__
    known_as = {"Laplace": "L1 (Lasso)", "GroupLasso": "group Lasso"}
    penalty = f"λ = {selection.lam:.5g}{_scale_in_package(selection)}"
    yield (
        "penalty",
        f"{known_as.get(prior, prior)}, {penalty}; a resample selects {average}",
    )
    yield (
        "threshold",
        f"selected if Π ≥ {selection.threshold:.3g}{_threshold_reason(selection)}",
    )
    resamples = _law(selection.question.counts, selection.question.target.n_rows)
    if not np.isnan(selection.pfer_bound):
        resamples += (
            "; the limit on false selections, pfer, needs independent"
            f" {selection.diagnostics.unit}s"
        )
    yield "resamples", resamples
    n_selected = size_selected(selection)
    # half of the features false is too much to stay silent about: a tenth is proposed
    if n_selected and selection.pfer_bound > n_selected / 2:
        yield (
            "limit",
            f"on average {min(selection.pfer_bound, n_selected):.2g} of {n_selected}"
            f" selected may be false; ask for fewer, with pfer {n_selected / 10:.2g}",
        )


def _scale_in_package(selection):
    """Write the penalty in the unit of the package that is used most for such a model,
    in brackets, if there is one, and whether cross-validation chose it.
    """
    package = "glmnet"
    parameter = "lambda"
    if selection.question.target.loss == "survival":
        package = "scikit-survival"
        parameter = "alpha"
    text = ""
    lam = selection.lambda_scales.get(f"{package} {parameter}")
    if lam is not None:
        text = f" ({parameter} {lam:.4g} in {package})"
    if selection.asked.get("by_cv"):
        text += " by cross-validation"
    return text


def _threshold_reason(selection):
    """Explain a threshold that is neither the one given nor the default; "" if it is.

    Thresholds are shown to three digits: what differs by less than half of the last one
    is equal.
    """
    given = selection.asked["threshold"]
    default = error_control.DEFAULT_THRESHOLD
    if given is None and selection.threshold < default - 5e-4:
        return (
            f", lowered from {default}: with few rows for so many features a resample"
            " selects few, and the limit on false selections holds, too"
        )
    expected = given or default
    if selection.threshold > expected + 5e-4 and not np.isnan(selection.pfer_bound):
        return f", raised from {expected:g} to keep the limit on false selections"
    return ""


def grades_of(diagnostics, refined):
    """Describe the reliability of a `Selection` in a sentence: a grade and in brackets
    the reasons, as in "good (no row dominates: ...)". The grade of the column of
    standard deviations follows if there are reasons against it.

    They come from the `Diagnostics`; `refined` is None where there are no refits.
    """
    grade = GRADES[diagnostics.reliability]
    reasons = list(diagnostics.reasons)
    if not reasons:
        text = (
            f"{grade} (no {diagnostics.unit} dominates: the largest makes"
            f" {diagnostics.largest_share:.0%} of the variation)"
        )
    elif refined is None:
        text = f"{grade} ({'; '.join(reasons)})"
    else:
        # with refits there is no need for the advice behind a reason
        reasons = [why.removesuffix(": compare with refits") for why in reasons]
        text = (
            f"{grade} ({'; '.join(reasons)}), by rVAMP alone; the refits correct that,"
            " but no wrong row"
        )
    if diagnostics.spread_reasons:
        spread_grade = GRADES[diagnostics.spread_reliability]
        text += (
            f". The column sd: {spread_grade} ({'; '.join(diagnostics.spread_reasons)})"
        )
    return text


_NO_EFFECTS = {  # for each loss or kind of table without effects: the remedy
    "huber": "give loss='squared', whose standard errors allow for unequal noise",
    "chunks": "give some of the columns, with the selected ones, as an array",
}


def why_no_effects(question):
    """Explain why a `SelectionProblem` has no effects, whatever its size, with a
    remedy; "" if it may have.

    An effect is a coefficient without the bias of the penalty, with its interval. Known
    are those of five losses, of a table in memory, with an intercept and the penalty of
    this package, not with a prior of the user's own.
    """
    loss = question.target.loss
    prior = question.prior
    if loss not in ("squared", "logistic", "poisson", "softmax", "survival"):
        cause = loss
    elif type(question.A) is not np.ndarray:
        cause = "chunks"
    elif not question.target.intercept:
        cause = "intercept=False"
    elif prior.plain is not prior:  # the user's own, inside a `ScaledPrior`
        cause = f"the prior {type(prior.plain).__name__}"
    else:
        return ""
    # a cause with a remedy of its own, or that of all others
    halves = "select on one half of the rows, fit a regression with it on the other"
    return f"no effects are known with {cause}: {_NO_EFFECTS.get(cause, halves)}"


def effects_text(selection, effects):
    """Write a paragraph about the `Effects` of a `Selection`, as Markdown: how they
    were estimated, what they change, what the intervals are for, and the reasons of
    those without.
    """
    method = "by a debiased Lasso, each as if it alone had no penalty"
    if effects.covariance is not None:  # of a joint fit
        method = "without a penalty, with bias and errors by fits that leave rows out"
    meaning = (
        f"the change of {_change(selection.question.target)} per unit of its column"
    )
    if effects.ratio:
        meaning += f", and its exponential the {effects.ratio} ratio"
    sentences = [
        f"Effects of {number_of(len(effects.status), 'feature')} were estimated in one"
        f" model of all columns {method}, with rvamp_nb"
        f" {versions_used()['rvamp_nb']}.",
        f"{np.sum(effects.status == 'interval')} of them have an interval of"
        f" {100 * effects.level:g} % (effects.csv, effects.pdf).",
        f"An effect is {meaning}.",
        f"The {effects.note}.",
    ]
    pairs = zip(effects.names, effects.reasons)
    without = [f"{printable(name, 30)}: {why}" for name, why in pairs if why]
    if without:
        sentences.append(f"Without an interval: {'; '.join(without)}.")
    return f"## Effects\n\n{' '.join(sentences)}\n"
