"""Does the suite notice a mistake? Mistakes that could be made, and who must see them.

    python tests/helpers/sabotages.py                  all of them
    python tests/helpers/sabotages.py prior solver.py  those of some rooms
    python tests/helpers/sabotages.py --tree FOLDER    those of another working tree

Each sabotage breaks one place of one room, the way a real mistake would, and names the
tests that must fail then. All is done in a copy of the repository's files: first the
tests are run as the rooms stand, and must pass; then each room is broken in turn, its
tests are run, and the room is mended. A line for each says which test saw it. The exit
code is 1 where a mistake was not seen.

A room that changes may lose the text that is broken here: `misplaced` says so, and the
suite asks it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "rvamp_nb"
PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider")
SAW = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class Sabotage(NamedTuple):
    room: str  # file of the package
    what: str  # the mistake, in a few words
    right: str  # a piece of the room's text that is there exactly once
    wrong: str  # what it becomes
    tests: str  # what must fail, arguments of pytest


SABOTAGES = [
    # --- counts -----------------------------------------------------------------------
    Sabotage(
        "algorithm/resampling.py",
        "a count without replacement varies like a Poisson count",
        "return self.tau * (1 - self.tau)",
        "return self.tau",
        "tests/algorithm/test_resampling.py::test_mean_and_variance_agree_with_the_nodes",
    ),
    Sabotage(
        "algorithm/resampling.py",
        "the weakness multiplies the penalty in place of dividing it",
        "return 1 / (self.w + (1 - self.w) * (x + 1) / 2), weights / 2",
        "return self.w + (1 - self.w) * (x + 1) / 2, weights / 2",
        "nbs/workshop/resampling.ipynb::module",
    ),
    Sabotage(
        "algorithm/resampling.py",
        "rows of a group are drawn one by one",
        "return self.of_groups.draw(len(self.names), rng)[self.index]",
        "return self.law.draw(M, rng)",
        "tests/algorithm/test_resampling.py::test_a_group_has_one_count",
    ),
    # --- data sets --------------------------------------------------------------------
    Sabotage(
        "datasets.py",
        "the penalty of a mean is taken for that of a sum",
        "return float(len(y) * search.fit(A, y).alpha_)",
        "return float(search.fit(A, y).alpha_)",
        "tests/algorithm/test_datasets.py::test_choose_lambda_is_m_times_alpha",
    ),
    # --- refits -----------------------------------------------------------------------
    Sabotage(
        "inference/bootstrap.py",
        "rows are multiplied by their counts, not by the roots",
        "root = np.sqrt(counts[rows])",
        "root = counts[rows]",
        "tests/algorithm/test_bootstrap.py::test_refits_meet_the_conditions_closely",
    ),
    Sabotage(
        "inference/bootstrap.py",
        "the variance is divided by n",
        "np.maximum(two - off**2, 0) * n / (n - 1)",
        "np.maximum(two - off**2, 0)",
        "tests/algorithm/test_bootstrap.py::test_against_an_independent_implementation",
    ),
    Sabotage(
        "inference/bootstrap.py",
        "penalties are drawn by the law of the rows",
        "(M, N), resampling, prior.randomize, weight",
        "(M, N), resampling, resampling, weight",
        "tests/algorithm/test_bootstrap.py::test_against_an_independent_implementation",
    ),
    Sabotage(
        "algorithm/prior.py",
        "a penalty is the paper's, drawn at random",
        "        return Laplace(lam)\n",
        "        return Laplace(2 * lam)\n",
        "tests/algorithm/test_properties.py"
        "::test_a_penalty_is_the_lasso_and_a_name_its_loss_bit_for_bit",
    ),
    Sabotage(
        "algorithm/likelihood.py",
        "a loss by its name is the squared one",
        "return LOSSES[loss]() if loss in LOSSES else loss",
        "return Squared() if loss in LOSSES else loss",
        "tests/algorithm/test_properties.py"
        "::test_a_penalty_is_the_lasso_and_a_name_its_loss_bit_for_bit",
    ),
    Sabotage(
        "inference/batch_glm.py",
        "where refits go on, their columns are not in use",
        "used = always[w] | (z != 0)",
        "used = always[w] | (z != z)",
        "tests/algorithm/test_bootstrap_general.py::test_every_refit_at_once_is_optimal",
    ),
    Sabotage(
        "inference/batch_glm.py",
        "a refit that has not arrived is passed on",
        "if not gap <= GAP:",
        "if False:",
        "tests/algorithm/test_bootstrap_general.py"
        "::test_what_is_not_reached_is_an_error_that_says_by_how_much",
    ),
    Sabotage(
        "inference/refits.py",
        "products of many rows forget the counts",
        "target = vectors.T @ (X.T @ (c * y)) / root",
        "target = vectors.T @ (X.T @ y) / root",
        "tests/select/test_by_refits.py"
        "::test_exact_refits_of_many_rows_are_those_of_one_at_a_time",
    ),
    Sabotage(
        "inference/turns.py",
        "steps on groups let no group in",
        "h = Q * x - (c * slope) @ coupling.A",
        "h = Q * x - (x != 0) * ((c * slope) @ coupling.A)",
        "tests/algorithm/test_column_groups.py"
        "::test_steps_on_groups_end_where_turns_do",
    ),
    Sabotage(
        "inference/refit_losses.py",
        "Poisson refits forget the target",
        "return c * (np.exp(f) - y)",
        "return c * np.exp(f)",
        "tests/algorithm/test_bootstrap_general.py::test_a_poisson_offset_is_an_exposure",
    ),
    Sabotage(
        "inference/batch_glm.py",
        "columns outside the guess are not looked at again",
        "again[refits] = True",
        "again[refits] = False",
        "tests/algorithm/test_bootstrap_general.py::test_every_refit_at_once_is_optimal",
    ),
    Sabotage(
        "select/selection.py",
        "refits of a million columns are made dense",
        "combined.sparse_draws[:, candidates] != 0",
        "combined.draws[:, candidates] != 0",
        "tests/select/test_memory.py::test_refits_of_a_table_in_blocks_are_held_where_they_are_not_zero",
    ),
    Sabotage(
        "algorithm/solver.py",
        "a fit and the selector that asks for it each have a table",
        "if not is_constant:",
        "if True:",
        "tests/select/test_memory.py::test_a_fitted_selector_keeps_one_table",
    ),
    # --- messages ---------------------------------------------------------------------
    Sabotage(
        "course/rs_gaussian.py",
        "the log-partition function forgets what the replicas share",
        "+ n * beta * h**2 / (2 * precision_of_sum)",
        "+ n * beta * h**2 / (2 * Q_hat)",
        "nbs/course/23_rs_gaussian.ipynb::module",
    ),
    Sabotage(
        "algorithm/messages.py",
        "a variance is divided once by what it has twice",
        "T=(own.var - chi**2 * received.chi_hat) / own.rho_bar**2",
        "T=(own.var - chi**2 * received.chi_hat) / own.rho_bar",
        "tests/algorithm/test_messages.py::test_mixed_agrees_with_plain_on_any_set",
    ),
    # --- prior ------------------------------------------------------------------------
    Sabotage(
        "algorithm/prior.py",
        "a probability alone forgets the other side",
        "near + (not positive) * far",
        "near + 0 * far",
        "tests/algorithm/test_prior.py::test_a_probability_alone_is_that_of_the_whole_channel",
    ),
    Sabotage(
        "algorithm/prior.py",
        "next to no threshold a probability exceeds 1",
        "np.minimum(near + (not positive) * far, 1)",
        "near + (not positive) * far",
        "tests/algorithm/test_prior.py::test_a_probability_alone_is_that_of_the_whole_channel",
    ),
    Sabotage(
        "algorithm/prior.py",
        "the variance forgets that penalties differ",
        "return first + shift, chi, var + between, rho, rho_bar",
        "return first + shift, chi, var, rho, rho_bar",
        "tests/algorithm/test_prior.py::test_against_a_million_draws",
    ),
    Sabotage(
        "algorithm/prior.py",
        "the variance counts the product of the two means once",
        "var = chi_hat * v.sum(0) + 2 * up * down",
        "var = chi_hat * v.sum(0) + up * down",
        "tests/algorithm/test_prior.py::test_against_a_million_draws",
    ),
    Sabotage(
        "algorithm/prior.py",
        "an added precision is left out of 1 - rho",
        "rho_bar = (Q_hat * Pi_bar + k) / Q",
        "rho_bar = Q_hat * Pi_bar / Q",
        "tests/algorithm/test_channels.py::test_a_priors_moments_are_derivatives",
    ),
    Sabotage(
        "select/edges.py",
        "a column may be its own neighbour",
        "        new[target == j] = 0\n",
        "        new[target == j] *= 1\n",
        "tests/select/test_networks.py::test_neighbours_are_those_of_the_lasso",
    ),
    Sabotage(
        "select/edges.py",
        "the penalty is forgotten where signs are given",
        "(products - lam * np.sign(old)) * is_used",
        "(products - 0 * np.sign(old)) * is_used",
        "tests/select/test_networks.py::test_neighbours_are_those_of_the_lasso",
    ),
    Sabotage(
        "select/edges.py",
        "what is beyond the penalty elsewhere is not looked at",
        "solved[active] = reached & _hold_unused(regressions, lam)",
        "solved[active] = reached",
        "tests/select/test_networks.py::test_neighbours_are_those_of_the_lasso",
    ),
    Sabotage(
        "select/edges.py",
        "either regression is enough",
        'join = np.logical_and if rule == "and" else np.logical_or',
        'join = np.logical_or if rule == "and" else np.logical_or',
        "tests/select/test_networks.py::test_and_asks_for_both",
    ),
    Sabotage(
        "select/edges.py",
        "both regressions of an edge are one",
        "edges = join(selected, np.swapaxes(selected, 1, 2))",
        "edges = join(selected, selected)",
        "tests/select/test_networks.py::test_edges_against_the_naive_bootstrap",
    ),
    Sabotage(
        "select/edges.py",
        "the error is that of halves, not of pairs",
        "np.maximum(sums.square / n - Pi**2, 0) / (n - 1))",
        "np.maximum(sums.square / n - Pi**2, 0) / (2 * n - 1))",
        "tests/select/test_networks.py::test_the_standard_error_is_that_of_repetitions",
    ),
    Sabotage(
        "select/networks.py",
        "the bound counts columns",
        "p = A.shape[1] * (A.shape[1] - 1) // 2",
        "p = A.shape[1]",
        "tests/select/test_networks.py::test_q_edges_are_selected_and_the_bound_counts_edges",
    ),
    Sabotage(
        "select/networks.py",
        "a copy is a node",
        "representative = np.where(constant, -1, near_copies(A))",
        "representative = np.where(constant, -1, np.arange(len(constant)))",
        "tests/select/test_networks.py::test_columns_that_are_no_nodes",
    ),
    Sabotage(
        "algorithm/column_groups.py",
        "the root of the size is forgotten",
        "        return np.sqrt(sizes[groups.index])",
        "        return 1.0 + 0 * sizes[groups.index]",
        "tests/algorithm/test_column_groups.py::test_weights_are_roots_by_default",
    ),
    Sabotage(
        "algorithm/group_channel.py",
        "the variance along the field is taken for that across it",
        "var = self.tangential + (self.radial - self.tangential) * along**2",
        "var = self.radial + (self.tangential - self.radial) * along**2",
        "tests/algorithm/test_column_groups.py::test_the_channel_against_draws",
    ),
    Sabotage(
        "algorithm/group_channel.py",
        "the response forgets that directions are shared",
        "shrinkage = (k - 1) / k *",
        "shrinkage = (k - 1) / 1 *",
        "tests/algorithm/test_column_groups.py::test_the_mean_response_is_the_divergence_over_the_size",
    ),
    Sabotage(
        "algorithm/group_channel.py",
        "fields are taken as they are, with another precision",
        "h + (Q - Q_hat) * x, noise)",
        "h, noise)",
        "tests/algorithm/test_column_groups.py::test_the_message_matches_averages",
    ),
    Sabotage(
        "algorithm/group_channel.py",
        "uneven responses bring no noise",
        "noise = (mean(w**2 * chi_hat) + uneven) / mean(w) ** 2",
        "noise = mean(w**2 * chi_hat) / mean(w) ** 2",
        "tests/algorithm/test_column_groups.py::test_the_message_matches_averages",
    ),
    Sabotage(
        "algorithm/column_groups.py",
        "a column may be in two groups",
        "            if i in label:",
        "            if i in label and False:",
        "tests/algorithm/test_column_groups.py::test_what_is_refused",
    ),
    Sabotage(
        "algorithm/column_groups.py",
        "the way back forgets the lengths",
        "return U[:, :rank], V[:rank] / values[:rank, None] / size",
        "return U[:, :rank], V[:rank] / size",
        "tests/algorithm/test_column_groups.py::test_orthonormal_columns_and_the_way_back",
    ),
    Sabotage(
        "algorithm/column_groups.py",
        "one member is alone with its field",
        "return np.where(k > 1, s * (m + u), 0.0), w / w.sum(0)",
        "return np.where(k > 2, s * (m + u), 0.0), w / w.sum(0)",
        "tests/algorithm/test_column_groups.py::test_the_density_of_a_member_against_draws",
    ),
    Sabotage(
        "algorithm/densities.py",
        "the density of a prior of one's own forgets the response",
        "np.where(slope > 0, phi(noise) / np.where(slope > 0, slope, 1), 0)",
        "np.where(slope > 0, phi(noise), 0)",
        "tests/select/test_own_models.py::test_the_density_of_a_prior_of_ones_own_is_that_of_its_draws",
    ),
    Sabotage(
        "algorithm/prior.py",
        "a threshold of one's own is as wide below zero as above",
        "beyond = np.array([mean[0] >= 0, mean[1] > 0])",
        "beyond = np.array([-mean[1] >= 0, mean[1] > 0])",
        "nbs/course/31_prior.ipynb::module tests/select/test_own_models.py",
    ),
    Sabotage(
        "algorithm/likelihood.py",
        "the response of a loss with a kink is a tenth too large",
        "chi = np.where(noisy, by_stein, chi)",
        "chi = np.where(noisy, 1.1 * by_stein, chi)",
        "nbs/course/32_likelihood.ipynb::module",
    ),
    Sabotage(
        "algorithm/protocols.py",
        "a penalty of sorted coefficients is taken",
        "(np.abs(moved) > rounding)[:, ::2].any()",
        "(np.abs(moved) > rounding)[:, ::2].all()",
        "tests/select/test_own_models.py",
    ),
    Sabotage(
        "select/penalty.py",
        "the precision of a scaled prior of one's own stays",
        "self.prior.inner(field / c, Q_hat / c, beta * c)",
        "self.prior.inner(field / c, Q_hat, beta * c)",
        "tests/select/test_own_models.py",
    ),
    Sabotage(
        "algorithm/column_groups.py",
        "a combination forgets its length",
        "unit = np.abs(unit * np.reshape(length, shape))",
        "unit = np.abs(unit * 1)",
        "tests/select/test_feature_groups.py::test_densities_of_members",
    ),
    Sabotage(
        "algorithm/column_groups.py",
        "no group is looked at",
        "for g in np.flatnonzero(groups.sizes > 1):",
        "for g in np.flatnonzero(groups.sizes > 99):",
        "tests/algorithm/test_column_groups.py::test_columns_that_are_not_orthonormal_are_named",
    ),
    Sabotage(
        "select/feature_groups.py",
        "the penalty counts no directions",
        "factors * np.sqrt(sizes)",
        "factors * 1.0",
        "tests/select/test_feature_groups.py::test_probabilities_are_those_of_refits",
    ),
    Sabotage(
        "select/feature_groups.py",
        "row weights are forgotten in the basis",
        "members = as_weighed(penalized, weight)[:, grouped]",
        "members = penalized[:, grouped]",
        "tests/select/test_feature_groups.py::test_weights_and_groups_of_rows",
    ),
    Sabotage(
        "select/penalty.py",
        "each column of a group is counted",
        "stands = np.isin(np.arange(self.A.shape[1]), self.columns.where)",
        "stands = np.arange(self.A.shape[1]) >= 0",
        "tests/select/test_feature_groups.py::test_groups_are_counted",
    ),
    Sabotage(
        "select/selection.py",
        "the covariances within a group are forgotten",
        "_variance_of_draws(draws.multiply(stretch) @ columns.turn)",
        "np.where(varies, combined.var, 0) @ squared_turn",
        "tests/select/test_several_classes_selected.py"
        "::test_coefficients_are_those_of_refits",
    ),
    Sabotage(
        "select/networks.py",
        "the bound of a network ends above the one asked for",
        "threshold = max(threshold, min((1 + size**2 / (p * pfer)) / 2, 1.0))",
        "threshold = max(threshold, 0.5)",
        "tests/select/test_networks.py::test_the_bound_is_kept_where_halves_select_more",
    ),
    Sabotage(
        "select/feature_groups.py",
        "groups are counted where one has lost its columns",
        "return first[np.searchsorted(different, wanted)]",
        "return first[wanted]",
        "tests/select/test_feature_groups.py::test_idle_and_lonely_columns",
    ),
    Sabotage(
        "algorithm/column_groups.py",
        "the way back forgets the units",
        "return U[:, :rank], V[:rank] / values[:rank, None] / size",
        "return U[:, :rank], V[:rank] / values[:rank, None]",
        "tests/algorithm/test_column_groups.py::test_units_make_no_column_dependent",
    ),
    Sabotage(
        "inference/several_classes.py",
        "any strata keep every class in",
        "mixed = len(pairs) > len(set(strata))",
        "mixed = not isinstance(counts, Stratified)",
        "tests/inference/test_several_classes.py"
        "::test_what_no_fit_or_refit_can_tell_is_refused",
    ),
    Sabotage(
        "algorithm/prior.py",
        "penalties are the caller's array, not a copy",
        "numbers = np.array(check_array(name, value))",
        "numbers = check_array(name, value)",
        "tests/algorithm/test_prior.py::test_the_callers_penalties_are_copied",
    ),
    Sabotage(
        "algorithm/prior.py",
        "a penalty that is multiplied is no longer drawn",
        "_with_penalty(self, self.lam * factor, self.randomize)",
        "_with_penalty(self, self.lam * factor)",
        "tests/algorithm/test_convergence.py::test_paths_take_few_steps_and_agree_with_single_fits",
    ),
    Sabotage(
        "algorithm/prior.py",
        "penalties that go together mix up whose weight is whose",
        "_mixture(weights, np.moveaxis(moments, 1, 0))",
        "_mixture(weights[::-1], np.moveaxis(moments, 1, 0))",
        "tests/algorithm/test_prior.py::test_against_a_million_draws",
    ),
    # --- likelihood -------------------------------------------------------------------
    Sabotage(
        "algorithm/likelihood.py",
        "a loss that bends on a short scale has the nodes of any other",
        "max(1.0, 0.36 / loss.length_scale)",
        "1.0",
        "tests/algorithm/test_channels.py"
        "::test_a_narrow_loss_has_nodes_as_close_as_its_scale",
    ),
    Sabotage(
        "algorithm/likelihood.py",
        "a row without a response takes all digits from the others",
        "chi = np.maximum(chi, max(_FAINT * chi.max(), FAINTEST))",
        "chi = np.maximum(chi, FAINTEST)",
        "tests/algorithm/test_convergence.py"
        "::test_rows_far_beyond_the_bend_leave_the_others_their_digits",
    ),
    Sabotage(
        "algorithm/likelihood.py",
        "the prediction is taken with the wrong sign",
        "noise = spread * ((y + h) ** 2 + chi_hat)",
        "noise = spread * ((y - h) ** 2 + chi_hat)",
        "tests/algorithm/test_likelihood.py::test_against_a_million_draws",
    ),
    Sabotage(
        "algorithm/likelihood.py",
        "a row's stiffness forgets the square of sigma",
        "_gain(V, c / self.sigma**2, w)",
        "_gain(V, c / self.sigma, w)",
        "tests/algorithm/test_general_input.py::test_laws_at_the_edge_are_the_data_as_they_are",
    ),
    Sabotage(
        "algorithm/likelihood.py",
        "the noise forgets that responses differ from count to count",
        "squares = excess + (m_c - mean) ** 2 + chi_hat * (chi_c - chi) ** 2",
        "squares = excess + (m_c - mean) ** 2",
        "tests/algorithm/test_channels.py::test_a_losses_moments_are_derivatives",
    ),
    # --- coupling ---------------------------------------------------------------------
    Sabotage(
        "algorithm/linalg.py",
        "a triangle that is mirrored takes what lies above it",
        "corner.T, where=above",
        "corner.T",
        "tests/algorithm/test_coupling.py::test_equals_the_dense_solution",
    ),
    Sabotage(
        "algorithm/coupling.py",
        "a coefficient receives its own mean in its field",
        "h=(solved.Atu[R] + s * prior.r[R]) / free,",
        "h=solved.Atu[R] / free,",
        "tests/algorithm/test_coupling.py::test_equals_the_dense_solution",
    ),
    Sabotage(
        "algorithm/coupling.py",
        "the fit goes back to the rows with the wrong sign",
        "Natural(V, V * u - solved.Ax, solved.others_u / chi**2)",
        "Natural(V, V * u + solved.Ax, solved.others_u / chi**2)",
        "tests/algorithm/test_coupling.py::test_equals_the_dense_solution",
    ),
    Sabotage(
        "algorithm/lmmse.py",
        "the noise of the moment view does not reach the coefficients",
        "return from_h @ self.Sigma_x + (X_r * prior.T) @ X_r.T",
        "return from_h @ self.Sigma_x",
        "tests/algorithm/test_groups.py::test_the_coupling_is_that_of_dense_matrices",
    ),
    Sabotage(
        "algorithm/lmmse.py",
        "each receives its own noise",
        "    np.fill_diagonal(squares, 0)\n",
        "",
        "tests/algorithm/test_coupling.py::test_equals_the_dense_solution",
    ),
    Sabotage(
        "algorithm/lmmse.py",
        "a row of the wide form receives its own noise",
        "_subtract_own(row_dots(outer, outer), chi**2 * chi_hat, len(chi))",
        "_subtract_own(row_dots(outer, outer), 0 * chi_hat, len(chi))",
        "tests/algorithm/test_coupling.py::test_equals_the_dense_solution",
    ),
    Sabotage(
        "algorithm/lmmse.py",
        "where a row's own noise outweighs, what R brings is forgotten",
        "chi_hat @ response**2 + row_dots(noise_F.T, F_few)",
        "chi_hat @ response**2",
        "tests/algorithm/test_lmmse.py::test_nothing_receives_its_own_noise_however_loud",
    ),
    Sabotage(
        "algorithm/lmmse.py",
        "views are changed in the message that was given",
        "copies = [values.copy() for values in vectors]",
        "copies = list(vectors)",
        "tests/algorithm/test_coupling.py::test_inputs_are_not_modified",
    ),
    Sabotage(
        "algorithm/rectified.py",
        "the variance of a ramp forgets the mean that is above 0",
        "np.where(a > 0, 1 - square + 2 * low * lift - lift**2,",
        "np.where(a > 0, 1 - square - lift**2,",
        "tests/algorithm/test_prior.py",
    ),
    Sabotage(
        "algorithm/rectified.py",
        "the tail's second moment takes the first ratio twice",
        "np.array([ratio, 2 * ratio * next_ratio])",
        "np.array([ratio, 2 * ratio * ratio])",
        "nbs/workshop/rectified.ipynb::module",
    ),
    # --- the answer in a notebook -----------------------------------------------------
    Sabotage(
        "select/html.py",
        "the name of a column is taken for markup",
        "row = [plain_text(printable(name))]",
        "row = [printable(name)]",
        "tests/pages/test_html.py::test_a_name_is_text",
    ),
    Sabotage(
        "select/html.py",
        "what is undecided looks as what is selected",
        '_COLOURS.get(word, "amber")',
        '_COLOURS.get(word, "blue")',
        "tests/pages/test_html.py::test_what_is_undecided_is_marked_by_a_word_and_a_colour",
    ),
    Sabotage(
        "select/wording.py",
        "a bound that is none is printed",
        "if np.isnan(selection.pfer_bound):",
        "if False:",
        "tests/pages/test_html.py::test_nothing_is_printed_that_is_no_number",
    ),
    Sabotage(
        "select/frames.py",
        "the class that was asked for is the other one",
        "(np.array(words) == yes)",
        "(np.array(words) != yes)",
        "tests/command/test_cli.py::test_the_class_that_is_modelled_can_be_chosen",
    ),
    Sabotage(
        "cli.py",
        "a second target is refused its files",
        'if earlier["target"] != target:',
        "if False:",
        "tests/command/test_cli.py::test_a_second_target_has_files_of_its_own",
    ),
    Sabotage(
        "select/html.py",
        "a bar ends at the lower end of its error",
        "H{x(Pi)}V",
        "H{low}V",
        "tests/pages/test_html.py::test_bars_are_as_long_as_Pi_with_the_ends_of_a_standard_error",
    ),
    Sabotage(
        "select/html.py",
        "parameters that were changed look like the defaults",
        "if repr(value) != repr(defaults[name]):",
        "if not value:",
        "tests/pages/test_html.py::test_parameters_that_were_changed_are_bold_and_the_others_are_the"
        "_defaults",
    ),
    Sabotage(
        "sketch.py",
        "numbers stand to the left",
        '"right" if _NUMBER.fullmatch(cell) else "left"',
        '"left"',
        "tests/pages/test_html.py::test_numbers_stand_to_the_right_and_words_to_the_left",
    ),
    Sabotage(
        "sketch.py",
        "numbers have digits that nobody knows",
        "cells.append(digits(values[first], spread[first]))",
        "cells.append(digits(values[first], 0 * spread[first]))",
        "tests/pages/test_html.py::test_a_page_has_the_numbers_to_the_digits_that_are_known",
    ),
    Sabotage(
        "algorithm/solver.py",
        "a fit that has not converged looks as if it had",
        '("not converged", "red")',
        '("not converged", "green")',
        "tests/pages/test_html.py::test_a_result_is_a_line_and_a_page",
    ),
    Sabotage(
        "inference/refinement.py",
        "refits that were interrupted are complete",
        '("interrupted", "amber") if self.interrupted',
        '("interrupted", "amber") if False',
        "tests/pages/test_html.py::test_a_result_is_a_line_and_a_page",
    ),
    Sabotage(
        "select/joint_fit.py",
        "rows of one group count as independent",
        "units = np.arange(len(target.y)) if rows.groups is None else rows.groups",
        "units = np.arange(len(target.y))",
        "tests/select/test_selected_joint_effects.py::test_rows_in_groups",
    ),
    Sabotage(
        "inference/joint.py",
        "the bias is subtracted as if it were a share of the estimate",
        "estimate = x - bias / (1 + share)",
        "estimate = x - bias",
        "tests/inference/test_joint_effects.py::test_fits_without_rows_are_refits",
    ),
    Sabotage(
        "inference/joint.py",
        "those at risk do not weigh by their risk",
        "mean = self.sets.at_risk(self.A.T * risk).T",
        "mean = self.sets.at_risk(self.A.T * counts).T",
        "tests/inference/test_joint_effects.py::test_pulls_and_curvature_are_derivatives",
    ),
    Sabotage(
        "inference/joint.py",
        "the error of a part is that of the fits without it alone",
        "moved = own.T @ (x - without)",
        "moved = (x - without).T @ (x - without)",
        "tests/inference/test_joint_effects.py::test_least_squares_have_textbook_errors",
    ),
    Sabotage(
        "inference/joint.py",
        "a column that separates without a part is not seen",
        "infinite |= lost",
        "pass",
        "tests/inference/test_joint_effects.py::test_a_column_that_separates_rows_without_a_part_is_found_too",
    ),
    Sabotage(
        "inference/joint.py",
        "parts are drawn by the order of the labels",
        "drawn[order] = np.random",
        "drawn[:] = np.random",
        "tests/inference/test_joint_effects.py::test_neither_the_order_of_rows_nor_labels_change_an_effect",
    ),
    Sabotage(
        "select/joint_fit.py",
        "rows without a weight are in the model",
        "A = rows.with_weight(A)",
        "weight = weight + 0.0",
        "tests/select/test_selected_joint_effects.py::test_weights_are_in_the_model",
    ),
    Sabotage(
        "inference/effects.py",
        "effects per unit are multiplied by the scale",
        "unit = 1 / np.where(scale > 0, scale, np.nan)",
        "unit = np.where(scale > 0, scale, np.nan)",
        "tests/inference/test_effects.py::test_effects_per_unit_are_those_of_the_table_as_it_was",
    ),
    Sabotage(
        "datasets.py",
        "a standardised frame has lost its names",
        "B = type(frame)(B, frame.index, frame.columns)",
        "B = type(frame)(B, frame.index)",
        "tests/algorithm/test_datasets.py::test_a_frame_knows_what_was_done_to_it",
    ),
    Sabotage(
        "select/selection.py",
        "half of the falsely selected hold, of every loss",
        "held = _HELD_JOINTLY[loss]",
        'held = "half"',
        "tests/select/test_selected_joint_effects.py::test_what_is_shown_names_the_price_of_its_loss",
    ),
    Sabotage(
        "inference/effects.py",
        "effects without an interval look well",
        '{1: "green", 0: "red"}',
        '{1: "green", 0: "green"}',
        "tests/pages/test_html.py::test_a_result_is_a_line_and_a_page",
    ),
    Sabotage(
        "inference/effects.py",
        "the lines for the table of a selector do not run",
        "datasets.choose_lambda(A, y)",
        "choose_lambda(A)",
        "tests/algorithm/test_validation.py::test_effects_of_the_table_of_a_selector_are_those_of_the_lines"
        "_in_the_refusal",
    ),
    Sabotage(
        "select/planning.py",
        "a plan without an answer looks like one",
        'else ("no answer", "red")',
        'else ("no answer", "green")',
        "tests/pages/test_html.py::test_a_result_is_a_line_and_a_page",
    ),
    Sabotage(
        "algorithm/energy.py",
        "who gives a selector does not learn what to pass",
        " (of a fitted selector: selector.fit_)",
        "",
        "tests/algorithm/test_validation.py::test_who_gives_a_selector_is_told_what_to_pass",
    ),
    Sabotage(
        "select/wording.py",
        "a pfer that nobody asked for was asked for",
        '" (default: {error_control.DEFAULT_PFER:g})"',
        '" (asked for 1)"',
        "tests/select/test_report.py::test_a_promise_counts_what_was_selected_and_names_a_bound_that"
        "_holds",
    ),
    Sabotage(
        "select/report.py",
        "a bound that says next to nothing looks like a promise",
        "if n_selected and selection.pfer_bound > n_selected / 2:",
        "if False:",
        "tests/select/test_report.py::test_a_bound_that_says_next_to_nothing_is_named",
    ),
    Sabotage(
        "select/html.py",
        "a parameter is taken for markup",
        "{plain_text(printable(repr(value)))}",
        "{printable(repr(value))}",
        "tests/pages/test_html.py::test_parameters_are_text_and_folded",
    ),
    Sabotage(
        "select/wording.py",
        "a threshold stands where q should",
        "a resample selects {average}",
        "a resample selected {average}",
        "tests/pages/test_html.py::test_facts_are_those_of_the_answer",
    ),
    Sabotage(
        "select/report.py",
        "what is undecided is not marked",
        'texts[selection.undecided] += ", undecided"',
        "pass",
        "tests/pages/test_html.py::test_what_is_undecided_is_marked_by_a_word_and_a_colour",
    ),
    Sabotage(
        "select/report.py",
        "Π of the short table is cut at the digits of rVAMP alone",
        "2 if selection.refined is None else 3",
        "2",
        "tests/pages/test_html.py::test_the_table_to_be_read",
    ),
    Sabotage(
        "select/question.py",
        "a path of no penalty at all is let in",
        '"lambdas", lambdas, least=2',
        '"lambdas", lambdas, least=1',
        "tests/select/test_estimator_input.py",
    ),
    Sabotage(
        "select/remarks.py",
        "an answer without refits does not say so",
        "    if selection.refit_error:\n",
        "    if False:\n",
        "tests/select/test_selection.py::test_what_cannot_be_refitted_is_said_and"
        "_rvamp_reported",
    ),
    Sabotage(
        "select/estimator.py",
        "what is not fitted has a page",
        'if "selection_" not in vars(self)',
        "if not vars(self)",
        "tests/pages/test_html.py::test_what_is_not_fitted_shows_scikit_learns_diagram",
    ),
    Sabotage(
        "select/estimator.py",
        "the display that was asked for is ignored",
        'if "text/html" in bundle',
        "if bundle",
        "tests/pages/test_html.py::test_scikit_learns_display_as_text_is_respected",
    ),
    Sabotage(
        "sketch.py",
        "a poor reliability is called doubtful",
        'red="poor"',
        'red="doubtful"',
        "tests/pages/test_html.py::test_reliability_has_a_word_and_a_colour",
    ),
    Sabotage(
        "sketch.py",
        "bright letters stand on a bright ground",
        '"amber": ("#E5B800", _DARK)',
        '"amber": ("#E5B800", "white")',
        "tests/pages/test_html.py::test_words_can_be_read_on_bright_and_dark_pages",
    ),
    Sabotage(
        "sketch.py",
        "large numbers are not rounded",
        "np.where(digits < 0, coarse, fine)",
        "np.where(digits < 0, values, fine)",
        "tests/pages/test_html.py::test_numbers_are_rounded_to_the_second_digit_of_their_spread",
    ),
    Sabotage(
        "inference/diagnostics.py",
        "the reliability of Π is left out",
        "reliability of Π {Pi}, of sd {sd})",
        "reliability of sd {sd})",
        "tests/pages/test_html.py::test_diagnostics_and_an_answer_are_a_line_and_a_small_table",
    ),
    Sabotage(
        "environment.py",
        "a bar that ends early stays where it was",
        "self.total and self.n",
        "self.total",
        "tests/select/test_estimator_progress.py"
        "::test_a_bar_ends_where_the_work_does_full_and_green",
    ),
    Sabotage(
        "select/plots.py",
        "a feature that is undecided looks as the others in the picture",
        "undecided = selection.undecided[leading]",
        "pass",
        "tests/select/test_report.py::test_the_verdict_says_what_is_undecided",
    ),
    # --- densities by name ------------------------------------------------------------
    Sabotage(
        "sketch.py",
        "the bar at zero is as high as Π, not as the atom",
        "(HIGH - 3) * (1 - Pi)",
        "(HIGH - 3) * Pi",
        "tests/pages/test_by_name.py::test_a_bar_is_as_high_as_the_atom",
    ),
    Sabotage(
        "sketch.py",
        "a name is taken for markup",
        "cells = [plain_text(shown.name)]",
        "cells = [shown.name]",
        "tests/pages/test_by_name.py::test_many_are_shown_by_the_first_of_them",
    ),
    Sabotage(
        "algorithm/densities.py",
        "a copy with the other sign keeps the field of the first",
        "h=incoming.h * np.where(unit < 0, -1, 1)",
        "h=incoming.h * np.where(unit < 0, 1, 1)",
        "tests/pages/test_by_name.py::test_a_copy_of_the_other_sign_has_the_mirrored_density",
    ),
    Sabotage(
        "algorithm/densities.py",
        "the heights of a density stay those of another unit",
        "np.where(s > 0, Q / nonzero_s, 0) / self.unit",
        "np.where(s > 0, Q / nonzero_s, 0)",
        "tests/pages/test_by_name.py::test_a_density_in_another_unit_is_still_one",
    ),
    Sabotage(
        "algorithm/densities.py",
        "the covariance of p2 stays that of standardised columns",
        "return across * units, within * units",
        "return across, within",
        "tests/pages/test_by_name.py::test_the_scale_is_that_of_the_table",
    ),
    Sabotage(
        "select/features.py",
        "a mask of truth values is taken for numbers",
        "if any(isinstance(label, (bool, np.bool_)) for label in labels):",
        "if False:",
        "tests/pages/test_by_name.py::test_what_is_no_column_is_refused_by_name",
    ),
    Sabotage(
        "select/features.py",
        "a name that may be meant is not suggested",
        "which is no column of X{near}",
        "which is no column of X",
        "tests/pages/test_by_name.py::test_what_is_no_column_is_refused_by_name",
    ),
    Sabotage(
        "select/selection.py",
        "a density of what has not converged",
        'if not fit.converged:\n        raise ValueError(f"nothing converged, there',
        'if False:\n        raise ValueError(f"nothing converged, there',
        "tests/pages/test_by_name.py::test_without_an_answer_there_is_no_density",
    ),
    Sabotage(
        "select/by_refits.py",
        "steps are taken where refits are cheaper",
        "n_refits * a_refit < STEPS_A_SEARCH * a_step",
        "wanted * a_refit > STEPS_A_SEARCH * a_step",
        "tests/select/test_by_refits.py::test_a_small_table_takes_steps",
    ),
    Sabotage(
        "select/plots.py",
        "the title has rVAMP's probability, not the reported one",
        "Pi = selection.probabilities[i]\n",
        "Pi = selection.fit.Pi[selection.question.columns.where[i]]\n",
        "tests/pages/test_by_name.py"
        "::test_the_title_has_the_reported_probability_and_the_curve_is_rvamps",
    ),
    Sabotage(
        "select/plots.py",
        "a ridgeline is not in standard deviations of the columns",
        "columns.scale[which] / selection.question.target.n_rows**0.5",
        "columns.scale[which]",
        "tests/pages/test_by_name.py::test_the_ridgeline_has_the_rows_of_the_bars",
    ),
    Sabotage(
        "select/plots.py",
        "a column is asked for by its number where a number is a name",
        "p1(selection, str(_names(selection, i)))",
        "p1(selection, int(i))",
        "tests/pages/test_by_name.py::test_a_number_that_is_a_name_is_drawn_as_that",
    ),
    Sabotage(
        "select/plots.py",
        "the second ellipse is the first",
        "ring = _ring(joint.mean, joint.covariance, k)",
        "ring = _ring(joint.mean, joint.covariance, 1)",
        "tests/pages/test_by_name.py::test_a_pair_has_its_ellipses_and_its_correlations",
    ),
    # --- step, iteration, solver ------------------------------------------------------
    Sabotage(
        "algorithm/problem.py",
        "a problem is at temperature 1 where none is asked for",
        "beta: float = np.inf  # inverse temperature",
        "beta: float = 1.0  # inverse temperature",
        "nbs/course/35_until_it_stops.ipynb::module",
    ),
    Sabotage(
        "algorithm/start.py",
        "the empty model pulls coefficients away from the data",
        "h = Q_hat * x - counts.mean * pull",
        "h = Q_hat * x + counts.mean * pull",
        "nbs/course/34_one_turn.ipynb::module",
    ),
    Sabotage(
        "algorithm/unpenalised.py",
        "an outlier moves the first guess of a Huber loss",
        "weight = 1 / np.sqrt(np.maximum(gap, 1e-3 * gap.max() + 1e-300))",
        "weight = np.ones(len(y))",
        "nbs/course/34_one_turn.ipynb::module",
    ),
    Sabotage(
        "algorithm/damping.py",
        "a fainter message has a noise as if of all rows",
        "chi_hat=factor**2 * chi_hat",
        "chi_hat=factor * chi_hat",
        "nbs/course/35_until_it_stops.ipynb::module",
    ),
    Sabotage(
        "algorithm/iteration.py",
        "it has converged when the messages stand still, whatever the factors say",
        "if max(attempt.change, attempt.delta) < tol:",
        "if attempt.change < tol:",
        "tests/algorithm/test_convergence.py::test_the_status_names_what_fails",
    ),
    Sabotage(
        "algorithm/iteration.py",
        "a bad accelerated step is kept",
        "if current and not (fast and current.change > 3 * good.change):",
        "if current:",
        "tests/algorithm/test_convergence.py::test_a_bad_acceleration_is_undone",
    ),
    Sabotage(
        "algorithm/step.py",
        "the intercept's variance is divided by its precision once",
        "last = h / Q_hat, 1 / Q_hat, chi_hat / Q_hat**2, 1.0, 0.0",
        "last = h / Q_hat, 1 / Q_hat, chi_hat / Q_hat, 1.0, 0.0",
        "tests/inference/test_bagging.py::test_a_bagged_prediction_against_refits",
    ),
    Sabotage(
        "select/in_play.py",
        "the columns outside do not hear the noise of those in play",
        "coefficient_noise = view.T @ (c - form.C @ b) ** 2",
        "coefficient_noise = 0 * view.T @ (c - form.C @ b) ** 2",
        "tests/select/test_in_play.py::test_all_columns_receive_what_the_matrices_say",
    ),
    Sabotage(
        "algorithm/active.py",
        "a row does not take back what it has sent in the rough step",
        "return Natural(Q_hat, Q_hat * receiver.mean + field, np.maximum(noise, 0))",
        "return Natural(Q_hat, field, np.maximum(noise, 0))",
        "tests/algorithm/test_active.py::test_each_entry_by_loops",
    ),
    Sabotage(
        "select/penalty.py",
        "a start that runs away is followed to its end",
        "is_wild = is_late and min(changes[-patience // 2 :]) > SETTLED",
        "is_wild = False",
        "tests/select/test_in_play.py::test_a_start_that_runs_away_is_noticed",
    ),
    Sabotage(
        "inference/turns.py",
        "columns out of play are not checked in the end",
        "missed = (pulls > 1) & ~in_play",
        "missed = (pulls > np.inf) & ~in_play",
        "tests/select/test_by_refits.py"
        "::test_columns_out_of_play_come_in_where_they_pull_too_hard",
    ),
    Sabotage(
        "inference/turns.py",
        "the classes of a sample answer by themselves",
        "residual + vp * multiple",
        "residual",
        "tests/inference/test_turns.py"
        "::test_samples_in_classes_go_on_from_their_last_fits",
    ),
    Sabotage(
        "select/in_play.py",
        "rows that are drawn together are taken apart",
        "in_groups = isinstance(question.counts, Grouped) or question.columns.together",
        "in_groups = question.columns.together",
        "tests/select/test_in_play.py::test_where_all_columns_are_taken_from_the_start",
    ),
    Sabotage(
        "algorithm/active.py",
        "a group of columns is cut in two",
        "if prior.column_groups or not is_known:",
        "if not is_known:",
        "tests/algorithm/test_column_groups.py::test_a_wide_table_in_chunks_takes_whole_groups",
    ),
    Sabotage(
        "algorithm/prior.py",
        "the few columns have the penalties of the first ones",
        "vars(prior)[name] = np.asarray(value)[which]",
        "vars(prior)[name] = np.asarray(value)[: len(which)]",
        "tests/algorithm/test_lmmse.py::test_most_columns_keep_still_and_the_answer_is_the_same",
    ),
    Sabotage(
        "algorithm/protocols.py",
        "a prior whose chi is not the derivative of its mean is taken",
        "if len(wrong) > len(h) // 2:",
        "if len(wrong) > len(h):",
        "tests/algorithm/test_protocols.py::test_a_wrong_prior_is_refused_at_the_call",
    ),
    Sabotage(
        "algorithm/protocols.py",
        "a response beside a threshold above most columns is taken",
        "counted & (np.abs(slope - response) > 0.1 * size)",
        "counted & (np.abs(slope - response) > 2 * size)",
        "tests/algorithm/test_protocols.py::test_a_wrong_response_above_a_high_threshold_is_refused",
    ),
    Sabotage(
        "algorithm/lattice.py",
        "the top of the largest count does not enter the spacing",
        "left = np.minimum(left, top)\n    right = np.maximum(right, top)",
        "left, right = left, right",
        "tests/algorithm/test_lattice.py::test_half_the_spacing_says_the_same",
    ),
    Sabotage(
        "algorithm/solver.py",
        "a fit is asked whether it has Pi",
        "        if self.selects:",
        '        if hasattr(self, "Pi"):',
        "tests/algorithm/test_protocols.py::test_own_objects_are_not_asked_what_they_offer",
    ),
    Sabotage(
        "algorithm/solver.py",
        "the table is the caller's array, not a copy",
        "table.base is None and not table.flags.writeable",
        "True",
        "tests/algorithm/test_solver_input.py::test_the_caller_may_reuse_what_was_passed_in",
    ),
    # --- what is read off a fit -------------------------------------------------------
    Sabotage(
        "algorithm/densities.py",
        "a covariance forgets a cross term",
        "across = from_S + L_u @ noise_u @ L_u.T + products.own_T - cross - cross.T",
        "across = from_S + L_u @ noise_u @ L_u.T + products.own_T - cross",
        "tests/algorithm/test_densities.py::test_the_two_densities_share_their_diagonal_moments",
    ),
    Sabotage(
        "algorithm/energy.py",
        "the rows enter the free energy with the wrong sign",
        "return (from_prior.h @ x.mean - u.mean @ drive + noise) / 2",
        "return (from_prior.h @ x.mean + u.mean @ drive + noise) / 2",
        "tests/algorithm/test_free_energy.py::test_without_randomness_minus_G_is_the_objective",
    ),
    Sabotage(
        "algorithm/evolution.py",
        "a message holds the noise that came in",
        "own = np.maximum(total - received, 0.0)",
        "own = np.maximum(total, 0.0)",
        "tests/algorithm/test_evolution.py::test_a_square_orthogonal_design_is_one_threshold_each",
    ),
    Sabotage(
        "inference/row_distances.py",
        "pairs of rows count as one",
        "log_chance = np.log(2 * level / (M * (M - 1)))",
        "log_chance = np.log(level)",
        "tests/inference/test_diagnostics.py"
        "::test_independent_rows_are_not_taken_for_repeated_ones",
    ),
    Sabotage(
        "inference/row_shares.py",
        "one pair of columns stands for two groups",
        "np.linalg.norm(products[:, block], 2)",
        "np.abs(products[:, block]).max()",
        "tests/inference/test_diagnostics.py"
        "::test_canonical_correlations_are_those_of_scipy_s_angles",
    ),
    Sabotage(
        "inference/row_shares.py",
        "a row's part in a group depends on the group's basis",
        "_sum_parts(fit.prior.pooled(squares(A[:, :N])), doubt)",
        "_sum_parts(squares(A[:, :N]), doubt)",
        "tests/inference/test_diagnostics.py"
        "::test_no_basis_of_a_group_changes_what_is_found",
    ),
    Sabotage(
        "select/planning.py",
        "the pilot's own error is left out of a plan",
        "power_se=float(np.hypot(study.power_se, error))",
        "power_se=study.power_se",
        "tests/algorithm/test_evolution.py"
        "::test_a_plan_from_a_short_pilot_of_neighbours_names_what_it_may_lose",
    ),
    Sabotage(
        "inference/diagnostics.py",
        "a path that failed above the answer is not held against it",
        "    if path_failed:\n",
        "    if path_failed and not fit.converged:\n",
        "tests/inference/test_diagnostics.py::test_a_path_that_failed_or_ended_early_is_red",
    ),
    Sabotage(
        "inference/effects.py",
        "a factor that is not known is used",
        "error > BLURRED * factor",
        "np.isinf(error)",
        "tests/inference/test_effects.py::test_a_factor_that_is_not_known_gives_no_interval",
    ),
    Sabotage(
        "inference/effects.py",
        "the noise of a row is that of the row left out",
        "return (residual_without * share) ** 2 / left, left.sum()",
        "return residual_without**2, left.sum()",
        "tests/inference/test_effects.py",
    ),
    Sabotage(
        "inference/effects.py",
        "a copy has an interval",
        " & (alike.closest <= COPY)",
        "",
        "tests/inference/test_effects.py::test_copies_are_refused_and_whoever_resembles_them_is_not",
    ),
    Sabotage(
        "inference/effects.py",
        "the noise of a twin in the joint field is left out of its error",
        "weights[:, i] = W_B @ inverse_row",
        "weights[:, i] = W_B[:, 0] * inverse_row[0]",
        "tests/inference/test_effects.py::test_intervals_of_twins_hold_as_often_as_they_say",
    ),
    Sabotage(
        "inference/effects.py",
        "the rows' degrees of freedom are not what is left",
        "/ left, left.sum()",
        "/ left, (1 - left).sum()",
        "tests/inference/test_effects.py",
    ),
    Sabotage(
        "inference/effects.py",
        "two copies that are both kept spoil the weights of all columns",
        "UNBOUNDED = 1e6",
        "UNBOUNDED = 1e300",
        "tests/inference/test_effects.py::test_copies_that_are_both_kept_leave_the_others_alone",
    ),
    Sabotage(
        "inference/effects.py",
        "the pull on a column is what its estimate is not",
        "pull = estimate - w.T @ rows.h",
        "pull = estimate",
        "tests/inference/test_effects.py::test_who_is_pulled_far_is_refused",
    ),
    Sabotage(
        "inference/effects.py",
        "each column has all degrees of freedom",
        "return 1 / (1 / left + uneven)",
        "return left + 0 * uneven",
        "tests/inference/test_effects.py::test_a_column_of_few_rows_has_few_degrees_of_freedom",
    ),
    Sabotage(
        "inference/effects.py",
        "a mean that was taken off is no coefficient",
        "left = share - all(map(np.all, is_centred)) / len(y)",
        "left = share",
        "tests/inference/test_effects.py::test_a_mean_that_was_taken_off_is_an_intercept",
    ),
    Sabotage(
        "inference/effects.py",
        "the pull is left out of an estimate's own error",
        "pull = np.where(by_residuals, EASED * pull, 0)",
        "pull = np.where(by_residuals, 0, 0)",
        "tests/inference/test_effects.py::test_where_many_columns_are_kept_intervals_are_not_too_wide",
    ),
    Sabotage(
        "inference/effects.py",
        "logistic rows do not bend",
        "factor = noise.sum() / slope.sum()",
        "factor = slope.sum() / slope.sum()",
        "tests/inference/test_effects.py::test_rows_that_bend",
    ),
    Sabotage(
        "select/error_control.py",
        "the one for a decoy that may lead is forgotten",
        "estimates = (1 + behind)",
        "estimates = (0 + behind)",
        "tests/select/test_error_control.py",
    ),
    Sabotage(
        "select/decoys.py",
        "the list ends one decoy late",
        "decoy_leads[min(v, len(lead)) - 1]",
        "decoy_leads[min(v, len(lead) - 1)]",
        "tests/select/test_decoys.py::test_who_is_kept_leads_before_the_vth_decoy",
    ),
    Sabotage(
        "select/selection.py",
        "a feature enters where the promise is one stride larger",
        "(pfers[0] / pfers[1]) ** share",
        "(pfers[1] / pfers[0]) ** share",
        "tests/select/test_selection.py::test_a_feature_enters_at_the_least_pfer_that_the_summary_names",
    ),
    Sabotage(
        "select/decoys.py",
        "decoys are pooled, not held against their own",
        "return of_features - of_decoys",
        "return of_features - np.sort(of_decoys)",
        "tests/select/test_error_control.py",
    ),
    Sabotage(
        "course/exercises.py",
        "an answer is right when its sign is not",
        "if _agree(answer, right, right, rtol):",
        "if _agree(answer, -right, right, rtol):",
        "tests/pages/test_students.py::test_what_is_wrong_with_an_answer_is_said",
    ),
    Sabotage(
        "inference/turns.py",
        "what the prior sends is not what its metric says",
        "r = D * g",
        "r = 1.1 * D * g",
        "tests/inference/test_turns.py::test_settled_turns_are_refits",
    ),
    Sabotage(
        "tables/standardize.py",
        "columns are squared in the units in which they come",
        "B = A / np.where(size > 0, size, 1)",
        "B, size = 1 * A, 1.0",
        "tests/select/test_units.py::test_columns_in_any_units",
    ),
    Sabotage(
        "tables/standardize.py",
        "an offset takes the digits of a table that is read in blocks",
        "center = sums.mean + sums.total / M * sums.size",
        "center = np.float32(sums.mean + sums.total / M * sums.size)",
        "tests/select/test_units.py::test_tables_that_are_read_in_blocks_in_any_units",
    ),
    Sabotage(
        "inference/turns.py",
        "hazards of single resamples stay what they are after four turns",
        "self._with_baselines(batch.of(moves))",
        "batch.of(moves)",
        "tests/inference/test_turns.py"
        "::test_with_hazards_of_their_own_turns_are_cox_fits",
    ),
    Sabotage(
        "inference/turns.py",
        "hazards of single resamples have a level of their own",
        "hazard *= (risk @ self.hazard / (risk * hazard).sum(1))[:, None]",
        "",
        "tests/inference/test_turns.py"
        "::test_with_hazards_of_their_own_turns_are_cox_fits",
    ),
    Sabotage(
        "inference/turns.py",
        "an offset is left out where a row answers",
        "omega = np.broadcast_to(offset - batch.h_u, c.shape)",
        "omega = np.broadcast_to(-batch.h_u, c.shape)",
        "tests/inference/test_turns.py::test_every_penalty_is_refitted_with_weights_and_offsets",
    ),
    Sabotage(
        "inference/turns.py",
        "Newton's steps leave the count out",
        "step -= cV * slope",
        "step -= V * slope",
        "tests/inference/test_turns.py::test_every_penalty_is_refitted_with_weights_and_offsets",
    ),
    Sabotage(
        "inference/turns.py",
        "the one metric is not the same on both sides of a row",
        "V=rows_middle, q=rows_middle)",
        "V=V, q=100 * q)",
        "tests/inference/test_turns.py::test_rvamps_metric_runs_away_between_near_copies_and_one"
        "_metric_does_not",
    ),
    Sabotage(
        "inference/turns.py",
        "what has not moved at the first look has settled, and all else, too",
        "unsettled = unsettled[moves]",
        "unsettled = unsettled[:0]",
        "tests/inference/test_turns.py::test_settled_turns_are_refits",
    ),
    Sabotage(
        "inference/turns.py",
        "the one curvature is that of all rows, and not of those drawn on average",
        "half_gram(X.T, p.counts.mean * weight * curvature)",
        "half_gram(X.T, weight * curvature)",
        "tests/inference/test_turns.py::test_of_many_rows_one_curvature_is_nearly_the_refit",
    ),
    Sabotage(
        "inference/turns.py",
        "with one curvature the rows' weights are left out of their pull",
        "scores = X * -(weight * slope)[:, None]",
        "scores = X * -slope[:, None]",
        "tests/inference/test_turns.py::test_one_curvature_meets_the_conditions_of_its_parabola",
    ),
    Sabotage(
        "inference/turns.py",
        "one multiplier of the penalty serves all columns",
        'factor = factor.take(columns, axis=1, mode="clip")',
        "factor = factor[:, :1]",
        "tests/inference/test_turns.py::test_every_penalty_is_refitted_with_weights_and_offsets",
    ),
    Sabotage(
        "inference/refinement.py",
        "of many rows exact refits are all there is",
        "return OneCurvature(fit, columns)",
        "return None",
        "tests/inference/test_refinement.py::test_of_many_rows_a_few_exact_refits_suffice",
    ),
    Sabotage(
        "inference/levels.py",
        "the exact refits are left out of the standard error",
        "square_error + weight**2 * var / n",
        "square_error + weight**2 * var / n * (k > 0)",
        "tests/inference/test_refinement.py::test_each_level_enters_value_and_error",
    ),
    Sabotage(
        "inference/levels.py",
        "a level is compared with other resamples than its own",
        "control[:n]",
        "control[-z.shape[0] :]",
        "tests/inference/test_refinement.py::test_each_level_enters_value_and_error",
    ),
    Sabotage(
        "inference/levels.py",
        "rVAMP's answer is believed as if chance were no part of it",
        "mean_gap * freedom / chi2.ppf(CHANCE, freedom)",
        "mean_gap",
        "tests/inference/test_refinement.py::test_of_a_dozen_features_rvamps_error_is_not_taken_for_less_than_it_may_be",
    ),
    Sabotage(
        "inference/refinement.py",
        "a resample depends on where its range begins",
        "wanted = slice(numbers.start - first, numbers.stop - first)",
        "wanted = slice(0, len(numbers))",
        "tests/inference/test_refinement.py::test_a_resample_depends_on_its_number_alone",
    ),
    Sabotage(
        "inference/levels.py",
        "sums of sparse levels are not centered",
        "squares = ones @ z.multiply(z) - n * (mean * mean)",
        "squares = ones @ z.multiply(z)",
        "tests/inference/test_refinement.py::test_sparse_levels_give_what_arrays_give",
    ),
    Sabotage(
        "inference/levels.py",
        "a feature that stands out is believed",
        "weight[squared_gap > CONTRADICTED**2 * (s2 + tau2)] = 0.0",
        "weight[squared_gap > 1e9 * (s2 + tau2)] = 0.0",
        "tests/inference/test_refinement.py::test_a_feature_whose_resamples_contradict_rvamp_keeps_the_refits_answer",
    ),
    Sabotage(
        "inference/refinement.py",
        "later refits draw what the first have drawn",
        "resamples(self.fit, numbers, self.seed)\n        x, level",
        "resamples(self.fit, range(len(numbers)), self.seed)\n        x, level",
        "tests/inference/test_refinement.py::test_levels_are_nested_and_grow_without_being_made_again",
    ),
    Sabotage(
        "inference/refinement.py",
        "the counts that turns receive are shifted by a row",
        "self.turns.levels(counts, factor, settle)",
        "self.turns.levels(np.roll(counts, 1, axis=1), factor, settle)",
        "tests/inference/test_refinement.py::test_levels_are_nested_and_grow_without_being_made_again",
    ),
    Sabotage(
        "inference/refinement.py",
        "the counts that exact refits receive are shifted by a row",
        "self.refit(counts, factor, start)",
        "self.refit(np.roll(counts, 1, axis=1), factor, start)",
        "tests/inference/test_refinement.py::test_levels_are_nested_and_grow_without_being_made_again",
    ),
    Sabotage(
        "inference/refinement.py",
        "levels without variance divide by it",
        "max(np.sum(variances / done), 1e-300)",
        "np.sum(variances / done)",
        "tests/inference/test_refinement.py::test_whatever_variances_and_costs_are_the_refits_end",
    ),
    Sabotage(
        "inference/refinement.py",
        "columns that turns do not know stay out",
        "new = np.setdiff1d(exact[:, :-1].indices, samples.kept)",
        "new = np.zeros(0, dtype=int)",
        "tests/inference/test_refinement.py::test_a_column_that_rvamp_leaves_out_is_found_by_exact_refits",
    ),
    Sabotage(
        "inference/refinement.py",
        "the accuracy of the worst feature is enough",
        "max(of_all, self.square_error.max())",
        "self.square_error.max()",
        "tests/inference/test_refinement.py::test_refits_go_on_until_all_together_are_worth_enough",
    ),
    Sabotage(
        "inference/refinement.py",
        "refits that failed leave their turns behind",
        "return [x[np.delete(np.arange(x.shape[0]), numbers)] for x in levels]",
        "return [x[: x.shape[0] - len(numbers)] for x in levels]",
        "tests/inference/test_refinement.py::test_refits_that_fail_are_left_out_and_named",
    ),
    Sabotage(
        "inference/refinement.py",
        "a coefficient that nobody has seen has no spread",
        "_count_stored(settled) >= FEW_SEEN",
        "_count_stored(settled) >= 0",
        "tests/inference/test_refinement.py::test_what_is_sometimes_0_has_a_spread",
    ),
    Sabotage(
        "inference/refinement.py",
        "Cox refits are taken for settled turns",
        "vstack([exact, samples.settled[len(failed) :]]",
        "vstack([samples.settled[: len(failed)], samples.settled[len(failed) :]]",
        "tests/inference/test_refinement.py::test_survival_times_are_refitted_by_cox_fits",
    ),
    Sabotage(
        "inference/batch_glm.py",
        "a refit ends where it was to begin",
        "z = table.from_caller(start)",
        "z = table.from_caller(start) * np.nan",
        "tests/algorithm/test_bootstrap_general.py::test_where_a_refit_begins_moves_no_digit_and_saves_steps",
    ),
    Sabotage(
        "algorithm/cluster_channel.py",
        "a coefficient is part of its own field",
        'W = U / (1 - view.D * np.einsum("mi,mi->i", U, A))',
        "W = U",
        "tests/inference/test_refinement.py::test_fields_move_as_the_coupling_says",
    ),
    Sabotage(
        "course/conditioning.py",
        "what a row did is done the other way round",
        "start = self.end + self.changes(chosen) @ self.moves",
        "start = self.end - self.changes(chosen) @ self.moves",
        "tests/inference/test_conditioning.py::test_a_pattern_begins_where_its_row_was_moved_before",
    ),
    Sabotage(
        "course/patterns.py",
        "the pieces of a law are taken for equally probable",
        "pieces.append((weight / w.sum(), law))",
        "pieces.append((1 / len(best), law))",
        "tests/inference/test_conditioning.py::test_pieces_make_up_their_law",
    ),
    Sabotage(
        "course/patterns.py",
        "patterns are weighed as if rows were drawn one by one",
        "weight *= ways / units[own]",
        "weight *= 0.5",
        "tests/inference/test_conditioning.py::test_patterns_are_the_draws_that_have_them",
    ),
    Sabotage(
        "course/patterns.py",
        "the other rows' rate does not move with the pattern",
        "np.append(places / np.maximum(units, 1), [0, 1])",
        "np.append(drawn / sizes, [0, 1])",
        "tests/inference/test_conditioning.py::test_patterns_are_the_draws_that_have_them",
    ),
    Sabotage(
        "course/patterns.py",
        "rows that are in are taken for out",
        "law_of_unit[rows] = len(laws) - pieces + np.array(chosen, dtype=int)",
        "law_of_unit[rows] = len(laws) - 1 - np.array(chosen, dtype=int)",
        "tests/inference/test_conditioning.py::test_all_rows_counted_are_every_half_sample",
    ),
    Sabotage(
        "inference/halves.py",
        "the second field is not moved by the first",
        "moved = h + sd * correlation * xi",
        "moved = h",
        "tests/inference/test_halves.py::test_two_thresholds_agree_with_the_bivariate_normal",
    ),
    Sabotage(
        "inference/halves.py",
        "the rows send no covariance of their mean pulls",
        "product / u.chi / u.chi - (u.mean / u.chi) ** 2 - gamma_rows",
        "product / u.chi / u.chi - gamma_rows",
        "tests/inference/test_halves.py::test_ridge_has_the_covariance_of_all_pairs",
    ),
    Sabotage(
        "inference/halves.py",
        "halves that are drawn from fewer rows share the rest",
        "np.array([[1 - 2 * share, share], [share, 0.0]])",
        "np.array([[0.0, share], [share, 1 - 2 * share]])",
        "tests/inference/test_halves.py::test_disjoint_thirds_leave_rows_out",
    ),
    Sabotage(
        "algorithm/clusters.py",
        "all blocks are read in the field of the first",
        "cavity = take_entries(cavities, [b])",
        "cavity = take_entries(cavities, [0])",
        "tests/algorithm/test_clusters.py"
        "::test_both_factors_agree_at_the_fixed_point_of_blocks[30-options0]",
    ),
    Sabotage(
        "algorithm/cluster_channel.py",
        "a block's own noise is not taken out of what it sees",
        "E @ (P - (B * T[..., None, :]) @ B) @ transposed(E)",
        "E @ P @ transposed(E)",
        "tests/algorithm/test_clusters.py::test_both_factors_agree_at_the_fixed_point_of_blocks",
    ),
    Sabotage(
        "algorithm/cluster_channel.py",
        "what a block says is not symmetric",
        "D = symmetric(L @ chi)",
        "D = L @ np.triu(chi)",
        "tests/algorithm/test_clusters.py::test_a_gaussian_with_the_message_has_the_moments_of_the"
        "_block",
    ),
    Sabotage(
        "algorithm/cluster_channel.py",
        "a block's response by its diagonal",
        "_clip_response(nodes.response, Q)",
        "_clip_response(nodes.response * np.eye(h.shape[1]), Q)",
        "tests/inference/test_conditioning.py::test_what_is_counted_is_worth_more[pairs_half]",
    ),
    Sabotage(
        "algorithm/cluster_channel.py",
        "a block's response is read off x in the wrong units",
        "numerator / (variances + epsilon)",
        "numerator / (roots + epsilon)",
        "tests/algorithm/test_clusters.py::test_moments_are_derivatives_of_the_gain",
    ),
    Sabotage(
        "algorithm/densities.py",
        "the table is not turned with the sums asked for",
        "A = prior.turn(A)\n        F = prior.turn(F)",
        "F = prior.turn(F)",
        "tests/algorithm/test_clusters.py::test_p2_of_a_fit_in_blocks_is_the_coupling_s_gaussian",
    ),
    Sabotage(
        "algorithm/cluster_channel.py",
        "a response of a block is held too low",
        "np.clip(values, 0, 1 - ALWAYS)",
        "np.clip(values, 0, 0.9)",
        "tests/algorithm/test_clusters.py::test_a_pair_that_is_always_selected_is_the_linear_one",
    ),
    Sabotage(
        "course/conditioning.py",
        "patterns on some columns forget the blocks",
        "put_in_clusters(p._replace(A=A, prior=prior), state, blocks, len(columns))",
        "p._replace(A=A, prior=prior), state",
        "tests/inference/test_conditioning.py::test_blocks_stay_blocks_where_few_columns_are_in_play",
    ),
    Sabotage(
        "algorithm/energy.py",
        "rows that cannot be moved have a response of their own in the radius",
        "/ fit.last.u.chi**2",
        "/ np.where(row_mean > 0, row_mean, 1) ** 2",
        "tests/algorithm/test_free_energy.py::test_rows_whose_pull_is_clipped_in_nearly_every"
        "_resample_do_not_blow_up",
    ),
    Sabotage(
        "algorithm/resampling.py",
        "half-samples of odd numbers are too large",
        '_size_of(self, "M", M) + 1e-9)',
        '_size_of(self, "M", M) + 0.5)',
        "tests/algorithm/test_resampling.py",
    ),
    # --- rows of their own kinds ------------------------------------------------------
    Sabotage(
        "algorithm/row_blocks.py",
        "the noise of a group's count acts on its residuals alone",
        "covariance * (squares + both_sides(E, X))",
        "covariance * squares",
        "nbs/course/52_groups.ipynb::module",
    ),
    Sabotage(
        "algorithm/groups.py",
        "the noise of a group forgets that its counts differ",
        '    noise += np.einsum("k,kgi,kgj->gij", p, deviation, deviation)\n',
        "",
        "tests/algorithm/test_groups.py::test_a_groups_moments_are_those_of_draws",
    ),
    Sabotage(
        "algorithm/weighted.py",
        "a weighted row's variance forgets the square of the weight",
        "moments = Moments(weight * mean, chi, weight**2 * var, rho, rho_bar)",
        "moments = Moments(weight * mean, chi, weight * var, rho, rho_bar)",
        "tests/inference/test_survival.py::test_two_ways_to_a_weighted_row_agree",
    ),
    Sabotage(
        "inference/cox.py",
        "at risk are those who left before, not those who are still there",
        "sums = self._sums(weights, True)[..., self.first]",
        "sums = self._sums(weights, False)[..., self.first]",
        "tests/inference/test_survival.py::test_a_cox_refit_meets_its_conditions",
    ),
    Sabotage(
        "course/multinomial.py",
        "one draw is left out",
        "n_draws = int(self.tau * M + 1e-9)",
        "n_draws = int(self.tau * M - 1e-9)",
        "tests/algorithm/test_resampling.py"
        "::test_multinomial_draws_have_the_enumerated_probabilities",
    ),
    Sabotage(
        "course/softmax.py",
        "the means begin at the second feature",
        "self._by_class(self._best.mean)[:-1])",
        "self._by_class(self._best.mean)[1:])",
        "tests/inference/test_several_classes.py::test_against_refits",
    ),
    Sabotage(
        "inference/several_classes.py",
        "scores vary by twice as much",
        "joint.predict(np.kron(some, np.eye(d)))[1]",
        "4 * joint.predict(np.kron(some, np.eye(d)))[1]",
        "tests/select/test_several_classes_selected.py::test_predictions_are_those_of_refits",
    ),
    Sabotage(
        "inference/several_classes.py",
        "a class is the reference",
        "    return B / np.sqrt(j * (j + 1))",
        "    return np.eye(K)[:, 1:]",
        "tests/inference/test_several_classes.py::test_no_class_comes_first",
    ),
    Sabotage(
        "inference/several_classes.py",
        "a sample's curvature is that of classes one by one",
        "B.T @ (p[..., None] * B) - outer",
        "B.T @ (p[..., None] * B)",
        "tests/inference/test_several_classes.py::test_slope_and_curvature_are_derivatives",
    ),
    Sabotage(
        "inference/several_classes.py",
        "a group of classes pays the root of its size",
        "weights = np.append(np.repeat(factors, d), np.zeros(d))",
        "weights = np.append(np.repeat(factors * d**0.5, d), np.zeros(d))",
        "tests/select/test_several_classes_selected.py::test_probabilities_are_those_of_refits",
    ),
    Sabotage(
        "select/features.py",
        "the intercepts of classes are those at the mean",
        "return x[..., 1 - self.K :] @ self.basis.T - on_table @ middle",
        "return x[..., 1 - self.K :] @ self.basis.T",
        "tests/select/test_several_classes_selected.py::test_coefficients_are_those_of_refits",
    ),
    Sabotage(
        "select/estimator.py",
        "classes are predicted in another order",
        "shares = partial(softmax, axis=1)",
        "shares = lambda scores: softmax(scores, axis=1)[:, ::-1]",
        "tests/select/test_several_classes_selected.py::test_predictions_are_those_of_refits",
    ),
    Sabotage(
        "select/estimator.py",
        "the selector that was given is fitted anew",
        "selector = clone(self.selector)",
        "selector = self.selector",
        "tests/select/test_bagged.py",
    ),
    Sabotage(
        "select/estimator.py",
        "a regressor predicts classes as numbers",
        "if has_classes == is_classifier(self):",
        "if True:",
        "tests/select/test_bagged.py::test_what_does_not_go_together_is_refused",
    ),
    Sabotage(
        "select/penalty.py",
        "directions of a feature count one by one",
        "    if columns.groups:\n        n_penalised",
        "    if True:\n        n_penalised",
        "tests/select/test_several_classes_selected.py::test_copies_constants_and_covariates",
    ),
    Sabotage(
        "inference/several_classes.py",
        "Newton's steps are taken in full",
        "u = u + _damp_step(V, step)",
        "u = u + step",
        "tests/inference/test_several_classes.py::test_pulls_solve_their_equation",
    ),
    Sabotage(
        "inference/turns.py",
        "the label is left out of the minimum of a refit",
        "fits = (omega + cV * y)",
        "fits = (omega + 0 * y)",
        "tests/inference/test_several_classes.py::test_both_minima_are_one",
    ),
    Sabotage(
        "inference/several_classes.py",
        "intercepts are penalised",
        "np.zeros(d))",
        "np.ones(d))",
        "tests/inference/test_several_classes.py::test_without_resampling_it_is_the_refit",
    ),
    Sabotage(
        "inference/several_classes.py",
        "a class may be lost",
        "    if lost > LOST and",
        "    if lost > 1 and",
        "tests/inference/test_several_classes.py::test_what_is_refused",
    ),
    Sabotage(
        "inference/several_classes.py",
        "variances along the field and across it are swapped",
        "across * (1 - 1 / K) + (along - across)",
        "along * (1 - 1 / K) + (across - along)",
        "tests/inference/test_several_classes.py::test_two_classes_are_the_logistic_loss",
    ),
    Sabotage(
        "inference/turns.py",
        "the rows of a sample have metrics of their own",
        "Metric._make(map(loss.pooled, metric))",
        "metric",
        "tests/inference/test_several_classes.py::test_a_refit_by_turns_is_exact",
    ),
    Sabotage(
        "algorithm/groups.py",
        "a joint loss responds row by row",
        "responses = slacks @ curvature",
        "responses = slacks * curvature.diagonal(0, -2, -1)[..., None, :]",
        "tests/inference/test_several_classes.py::test_the_answer_of_rows_is_an_average_of_pulls",
    ),
    Sabotage(
        "course/survival.py",
        "the baseline that goes along is forgotten",
        "base = moving.base",
        "base = base.updated(fit.last.u)",
        "tests/inference/test_survival.py"
        "::test_the_baseline_goes_along_with_the_messages",
    ),
    Sabotage(
        "inference/baseline.py",
        "a baseline that goes along stays where it is",
        "        self.base = self.base.updated(u)\n",
        "",
        "tests/select/test_selection.py"
        "::test_penalty_and_baseline_are_found_in_one_run",
    ),
    Sabotage(
        "inference/cox.py",
        "odd powers of a share of the risk come with the wrong sign",
        "np.where(power % 2 == 1, -root, 1.0)",
        "np.where(power % 2 == 1, root, 1.0)",
        "nbs/course/53_survival.ipynb::module",
    ),
    Sabotage(
        "inference/cox.py",
        "powers leave the range of numbers where hardly any risk is left",
        "/ LARGE, 1e-20 * at_risk[0])",
        "/ LARGE, 0 * at_risk[0])",
        "tests/inference/test_survival.py"
        "::test_rows_that_weigh_next_to_nothing_leave_the_others_as_they_are",
    ),
    Sabotage(
        "inference/cox.py",
        "a group holds no more of the risk than its next member",
        "            sums[later - 1] += sums[later]\n",
        "            pass\n",
        "nbs/course/53_survival.ipynb::module",
    ),
    Sabotage(
        "inference/cox.py",
        "of those who leave together each is at risk alone",
        "self.first = np.searchsorted(stop, stop)",
        "self.first = np.arange(len(stop))",
        "tests/inference/test_survival.py::test_a_cox_refit_meets_its_conditions",
    ),
    Sabotage(
        "inference/cox.py",
        "the baseline of a Cox refit does not give way",
        " - mean @ np.swapaxes(mean, -1, -2)",
        "",
        "tests/inference/test_survival.py"
        "::test_a_cox_refit_takes_few_steps_also_where_hardly_a_penalty_holds_it",
    ),
    Sabotage(
        "inference/cox.py",
        "all strata share one clock",
        "first_tick = stratum * (len(times) + 1)",
        "first_tick = stratum * 0",
        "tests/inference/test_survival.py"
        "::test_refits_with_strata_and_entries_meet_their_conditions",
    ),
    Sabotage(
        "inference/cox.py",
        "who enters at a death is at risk there",
        "self.n_started = np.searchsorted(start[self.start_order], stop)",
        'self.n_started = np.searchsorted(start[self.start_order], stop, "right")',
        "tests/inference/test_survival.py"
        "::test_refits_with_strata_and_entries_meet_their_conditions",
    ),
    Sabotage(
        "inference/cox.py",
        "sums of a stratum begin where those of the one before end",
        "borders = np.flatnonzero(earliest[1:] >= stop[:-1]) + 1",
        "borders = np.zeros(0, dtype=int)",
        "tests/inference/test_survival.py::test_strata_take_no_digits_from_each_other",
    ),
    Sabotage(
        "inference/cox.py",
        "a patient's second row has met the deaths of the first, too",
        "(until_stop - until_start)",
        "until_stop",
        "tests/inference/test_survival.py"
        "::test_a_row_that_is_cut_in_two_is_the_same_patient",
    ),
    Sabotage(
        "inference/cox.py",
        "deaths with little and with much at risk share running sums",
        "size = np.floor(np.log2(at_risk)) * grows",
        "size = 0 * at_risk",
        "tests/inference/test_survival.py::test_a_risk_that_rises_by_powers_of_ten",
    ),
    Sabotage(
        "inference/baseline.py",
        "the frozen baselines see columns that differ between strata",
        'return within_strata(check_array("A", A), self.strata, self.sample_weight)',
        "return A",
        "tests/select/test_estimator_input.py"
        "::test_what_is_constant_inside_every_stratum_is_named",
    ),
    Sabotage(
        "inference/refits.py",
        "refits have one baseline for all strata",
        "        strata=baseline.strata,\n",
        "",
        "tests/select/test_estimator_input.py"
        "::test_strata_of_survival_times_have_a_hazard_each",
    ),
    Sabotage(
        "select/target.py",
        "strata without an event are passed over",
        "for n, consequence in consequences.items()",
        "for n, consequence in enumerate(consequences.values(), 1)",
        "tests/select/test_estimator_input.py"
        "::test_strata_with_an_event_or_none_are_named",
    ),
    Sabotage(
        "inference/cox.py",
        "a coefficient that runs away is passed on as far as it got",
        "converged = (refitted.gap <= GAP) & bounded",
        "converged = refitted.gap <= GAP",
        "tests/inference/test_survival.py"
        "::test_an_unpenalised_column_that_nothing_bounds_is_no_answer",
    ),
    # --- the estimator ----------------------------------------------------------------
    Sabotage(
        "select/selection.py",
        "the threshold itself is not enough",
        "is_selected = candidates & (Pi >= threshold)",
        "is_selected = candidates & (Pi > threshold)",
        "tests/select/test_estimator.py"
        "::test_a_probability_equal_to_the_threshold_is_enough",
    ),
    Sabotage(
        "select/selection.py",
        "a bound is promised of resamples for which none holds",
        "    if not draws_halves(question.counts):\n        return np.nan\n",
        "",
        "tests/select/test_estimator.py::test_laws",
    ),
    Sabotage(
        "select/pilots.py",
        "an effect does not grow with the root of the rows",
        "evolution.ConstantSignal(size * np.sqrt(rows), n_effects / n_features)",
        "evolution.ConstantSignal(size * rows, n_effects / n_features)",
        "tests/algorithm/test_evolution.py::test_planned_studies_do_what_was_planned",
    ),
    Sabotage(
        "algorithm/order_parameters.py",
        "the threshold of a group before the data has no root of its size",
        "threshold = prior.lam * prior.weights[0]",
        "threshold = prior.lam",
        "tests/algorithm/test_evolution.py::test_averages_over_groups_are_those_of_draws",
    ),
    Sabotage(
        "algorithm/order_parameters.py",
        "variance along the field stands for that across it",
        "(at_nodes.radial + (d - 1) * at_nodes.tangential) / d",
        "(at_nodes.radial + (d - 1) * at_nodes.radial) / d",
        "tests/algorithm/test_evolution.py::test_averages_over_groups_are_those_of_draws",
    ),
    Sabotage(
        "algorithm/order_parameters.py",
        "the noise of a group has one direction",
        "radii(d, m, threshold / s - m, 16)",
        "radii(1, m, threshold / s - m, 16)",
        "tests/algorithm/test_evolution.py::test_averages_over_groups_are_those_of_draws",
    ),
    Sabotage(
        "algorithm/evolution.py",
        "every column of a group has its whole effect",
        "(share @ x_0**2) / order_parameters.columns_of(prior)",
        "(share @ x_0**2)",
        "tests/algorithm/test_evolution.py::test_with_many_rows_the_fit_of_groups_is_the_true_one",
    ),
    Sabotage(
        "algorithm/groups.py",
        "a row of zeros in a group receives what is left of rounding",
        "receives[layout.row] & receives[layout.col]",
        "receives[layout.row] | True",
        "tests/algorithm/test_groups.py::test_a_weight_of_zero_inside_a_group_has_an_answer",
    ),
    Sabotage(
        "select/feature_groups.py",
        "labels that look alike are one group",
        "        if first != label:",
        "        if first is None:",
        "tests/select/test_feature_groups.py::test_what_will_not_do",
    ),
    Sabotage(
        "select/target.py",
        "rows of no weight are company for a death",
        "np.abs(residuals[base.sample_weight > 0]).max()",
        "np.abs(residuals).max()",
        "tests/select/test_estimator_input.py::test_deaths_that_are_compared_with_nobody_are_refused",
    ),
    Sabotage(
        "select/matched.py",
        "a set with two cases is taken",
        "    several = sizes.index[sizes[case] > 1]",
        "    several = sizes.index[sizes[case] > 99]",
        "tests/command/test_studies.py::test_sets_that_will_not_do",
    ),
    Sabotage(
        "select/target.py",
        "half of each matched set is drawn",
        "if rows.strata is not None and not rows.are_matched():",
        "if rows.strata is not None:",
        "tests/command/test_studies.py::test_whole_sets_are_drawn",
    ),
    Sabotage(
        "select/target.py",
        "entries that never overlap are fitted in silence",
        "    if not rows.are_matched() and base.mean_at_risk < 5:",
        "    if rows.strata is not None and base.mean_at_risk < 5:",
        "tests/select/test_estimator_input.py::test_entries_that_never_overlap_are_named",
    ),
    Sabotage(
        "select/pilots.py",
        "a table has the eigenvalues of the population",
        "s = np.maximum(1 / m - total(m), least)",
        "s = np.maximum(1 / m - total(0 * m), least)",
        "tests/algorithm/test_evolution.py::test_eigenvalues_of_a_table_are_those_of_the_pilot_s_population",
    ),
    Sabotage(
        "select/pilots.py",
        "a factor is as strong as the pilot shows it",
        "return rest * (half + np.sqrt(half**2 - shown) - 1)",
        "return rest * (shown - 1)",
        "tests/algorithm/test_evolution.py::test_a_pilot_shows_its_factors",
    ),
    Sabotage(
        "select/pilots.py",
        "the line points the wrong way",
        "return self.middle + (power - self.mean) / self.slope",
        "return self.middle - (power - self.mean) / self.slope",
        "tests/algorithm/test_evolution.py::test_a_plan_from_a_pilot_is_carried_out_by_refits",
    ),
    Sabotage(
        "cli_options.py",
        "a limit that is open lets its end in",
        "if low < number <= high:",
        "if low <= number <= high:",
        "tests/command/test_cli.py::test_bad_numbers_name_their_argument",
    ),
    Sabotage(
        "cli.py",
        "a red light is exit code 0",
        "return _DOUBTFUL if selection.refit_error or red else 0",
        "return _DOUBTFUL if selection.refit_error else 0",
        "tests/command/test_cli.py::test_a_row_that_decides_is_exit_code_3",
    ),
    Sabotage(
        "course/micro.py",
        "a coefficient receives its own variance",
        "others = (B - np.diag(b)) ** 2 @ T + back**2 @ chi_hat",
        "others = B**2 @ T + back**2 @ chi_hat",
        "tests/algorithm/test_micro.py",
    ),
    Sabotage(
        "select/predictions.py",
        "many new rows are predicted without an intercept",
        "np.c_[Z, 1 - Z.sum(1)]",
        "np.c_[Z, 0 * Z.sum(1)]",
        "tests/select/test_selection.py::test_many_new_rows_have_the_spreads_of_each",
    ),
    Sabotage(
        "algorithm/clusters.py",
        "a block grows beyond what it may hold",
        "            size[a] += size[b]\n",
        "",
        "tests/algorithm/test_clusters.py",
    ),
    # --- rooms that serve the others --------------------------------------------------
    Sabotage(
        "plot_style.py",
        "figures are transparent: a dark page takes the truth away",
        "transparent=False",
        "transparent=True",
        "tests/pages/test_plot_style.py::test_style_is_opaque_and_repeatable",
    ),
    Sabotage(
        "course/pictures.py",
        "a bar is read as wide as it is high",
        "[bar.get_height() for bar in artist]",
        "[bar.get_width() for bar in artist]",
        "tests/pages/test_plot_style.py::test_a_picture_is_read_back",
    ),
    Sabotage(
        "course/pictures.py",
        "what goes wrong while a slider moves is not shown",
        "output.outputs = (_error_output(problem),)",
        "output.outputs = ()",
        "tests/pages/test_plot_style.py::test_error_of_a_callback_is_visible_and_goes_away",
    ),
    Sabotage(
        "course/widgets.py",
        "a small refit becomes a zero, and the atom grows",
        "np.minimum(np.ceil(np.abs(draws) / unit), 127)",
        "np.minimum(np.floor(np.abs(draws) / unit), 127)",
        "tests/pages/test_widgets.py::test_a_byte_for_a_refit_keeps_zeros_signs_and_order",
    ),
    Sabotage(
        "exceptions.py",
        "a chunk that cannot be read is no error of reading",
        "class ChunkError(OSError)",
        "class ChunkError(ValueError)",
        "tests/pages/test_docstrings.py",
    ),
    Sabotage(
        "results.py",
        "a type that comes back has no public home",
        '    "RefinedFit",\n',
        "",
        "tests/pages/test_imports.py::test_types_of_what_comes_back_have_a_public_home",
    ),
    Sabotage(
        "interface.py",
        "an object that lacks a part is taken",
        "if not hasattr(value, part)]",
        "if False]",
        "tests/algorithm/test_validation.py tests/algorithm/test_resampling.py",
    ),
    Sabotage(
        "typing.py",
        "an argument of yesterday is called what it was",
        "is called {remedy}= now",
        "is called {old}= now",
        "tests/pages/test_language.py::test_an_old_argument_names_that_of_today",
    ),
    Sabotage(
        "algorithm/energy.py",
        "a public function does not say what it gives",
        "def free_energy(fit: Fit) -> float:",
        "def free_energy(fit: Fit):",
        "tests/pages/test_signatures.py::test_a_signature_says_its_types",
    ),
    Sabotage(
        "validation.py",
        "an open end of an interval is let in",
        "if not (low < number < high or at_end):",
        "if not (low <= number < high or at_end):",
        "tests/algorithm/test_validation.py::test_ends_of_an_interval",
    ),
    Sabotage(
        "select/selection.py",
        "the bound forgets the sum that the refits have",
        "sums = (selection.fit.Pi, combined.Pi)",
        "sums = (selection.fit.Pi,)",
        "tests/select/test_report.py::test_the_bound_holds_for_the_largest_of_the_sums",
    ),
    Sabotage(
        "select/selection.py",
        "a refit that ctrl-C ended is called whole",
        "interrupted=combined.interrupted",
        "interrupted=False",
        "tests/command/test_cli.py::test_ctrl_c_in_the_refits_keeps_those_that_were_made",
    ),
    Sabotage(
        "select/selection.py",
        "coefficients of refits with the intercept of rVAMP",
        "level = np.mean(combined.intercepts)",
        "level = selection.fit.intercept",
        "tests/select/test_selection.py"
        "::test_probabilities_of_classes_are_those_of_refits",
    ),
    Sabotage(
        "select/selection.py",
        "the threshold stays where refits select more than q",
        "p, pfer=pfer, q=size",
        "p, threshold, q=size",
        "tests/select/test_selection.py"
        "::test_no_bound_is_above_the_pfer_that_was_asked_for",
    ),
    Sabotage(
        "select/selection.py",
        "one standard error is called decided",
        "low, high = combined.interval(TWO_ERRORS).T",
        "low, high = combined.interval(0.68).T",
        "tests/select/test_report.py::test_the_verdict_says_what_is_undecided",
    ),
    Sabotage(
        "select/selection.py",
        "the bound has the error of one resample's number, not of their mean",
        "error = np.std(sizes) / np.sqrt(len(sizes))",
        "error = np.std(sizes)",
        "tests/select/test_selection.py",
    ),
    Sabotage(
        "select/selection.py",
        "a list that is longer moves the stability as if chance did not know it",
        "slope = 2 * Pi - 1 + disagreement * (1 - 2 * share)",
        "slope = 2 * Pi - 1",
        "tests/select/test_selection.py::test_the_stability_index_is_nogueiras",
    ),
    Sabotage(
        "select/selection.py",
        "refits are the same for every random_state",
        "random_state=selection.seed(),",
        "random_state=0,",
        "tests/select/test_estimator.py::test_another_random_state_makes_other_refits",
    ),
    Sabotage(
        "select/penalty.py",
        "the factors of a prior are lost",
        "prior.lam * prior.penalty_factor * own_factors",
        "prior.lam * own_factors",
        "tests/select/test_selection.py"
        "::test_the_factors_of_a_prior_and_of_the_options_multiply",
    ),
    Sabotage(
        "inference/refinement.py",
        "a number of refits is a largest number",
        "        accuracy = None\n        n_resamples = check_size",
        "        n_resamples = check_size",
        "tests/inference/test_refinement.py"
        "::test_so_many_refits_are_made_whatever_the_accuracy",
    ),
    Sabotage(
        "select/selection.py",
        "the stability takes the error of an estimate for instability",
        "disagreement = np.mean(Pi * (1 - Pi) + np.square(Pi_se)) / by_chance",
        "disagreement = np.mean(Pi * (1 - Pi)) / by_chance",
        "tests/select/test_selection.py::test_the_stability_index_is_nogueiras",
    ),
    Sabotage(
        "select/predictions.py",
        "a row's prediction out of bag has the wrong sign",
        "return selection.question.target.level - message.h",
        "return selection.question.target.level + message.h",
        "tests/select/test_selection.py"
        "::test_intervals_of_new_targets_hold_what_they_name",
    ),
    Sabotage(
        "select/predictions.py",
        "the error of a new row is the mean one",
        "return np.sort(errors)[k - 1]",
        "return np.sort(errors)[len(errors) // 2]",
        "tests/select/test_selection.py"
        "::test_intervals_of_new_targets_hold_what_they_name",
    ),
    Sabotage(
        "select/substitutes.py",
        "a family is as accurate as the refits that are there",
        "if accuracy and errors.max() > accuracy and not refined.interrupted:",
        "if False:",
        "tests/select/test_selection.py::test_the_error_of_a_family_is_within_the_accuracy",
    ),
    Sabotage(
        "inference/refinement.py",
        "all of a family must be selected, not any",
        "hits = [x[:, family] @ np.ones(len(family)) > 0 for family in families]",
        "hits = [x[:, family].toarray().all(1) for family in families]",
        "tests/select/test_selection.py::test_how_often_any_of_a_family_is_selected",
    ),
    Sabotage(
        "inference/refinement.py",
        "a law may draw what it likes",
        'counts = drawn("resampling", fit.problem.counts, M, rngs, size)[wanted]',
        "counts = np.array([fit.problem.counts.draw(M, g) for g in rngs])",
        "tests/inference/test_refinement.py::test_a_law_that_draws_nonsense_is_refused",
    ),
    Sabotage(
        "course/patterns.py",
        "a pattern of groups starts anew without blocks",
        "    initial_message = property(lambda self: self.loss.initial_message)",
        "    of_blocks = property(lambda self: self.loss.initial_message)",
        "tests/inference/test_conditioning.py::test_a_pattern_of_groups_that_starts_anew_is_answered",
    ),
    Sabotage(
        "algorithm/groups.py",
        "a copy of a row has a direction of its own",
        "first = np.argmax(is_copy, axis=2)",
        "first = np.arange(m.shape[1]) + 0 * np.argmax(is_copy, axis=2)",
        "tests/algorithm/test_groups.py::test_a_row_that_is_split_in_two_changes_nothing",
    ),
    Sabotage(
        "select/selection.py",
        "effects stay in units of unit columns",
        "np.where(is_single, columns.unit[shown], np.nan)",
        "np.where(is_single, 1.0, np.nan)",
        "tests/select/test_selected_effects.py::test_units_of_columns_and_of_the_target",
    ),
    Sabotage(
        "inference/forest.py",
        "ratios are compared with 0",
        "ax.axvline(to_axis(0.0), color",
        "ax.axvline(0.01, color",
        "tests/inference/test_forest.py::test_points_and_intervals_are_where_the_numbers_say",
    ),
    Sabotage(
        "inference/forest.py",
        "units are not converted",
        "return per, effects.sd",
        "return per, 1.0",
        "tests/inference/test_forest.py::test_one_axis_or_standard_deviations",
    ),
    Sabotage(
        "select/report.py",
        "a report has no effects",
        "report_files(selection, done=done, effects=reported_effects(selection))",
        "report_files(selection, done=done)",
        "tests/select/test_report.py"
        "::test_a_report_has_the_effects_of_what_is_selected",
    ),
    Sabotage(
        "inference/refits.py",
        "refits that are not sure are not tried again side by side",
        "if len(unsure):  # once more, without a guess",
        "if False:  # once more, without a guess",
        "tests/inference/test_refinement.py::test_refits_that_are_not_sure_are_tried_again_side_by_side",
    ),
    Sabotage(
        "algorithm/groups.py",
        "messages that ran away are answered step by step",
        "if not np.isfinite(omega).all():",
        "if False:",
        "tests/algorithm/test_groups.py::test_messages_that_ran_away_take_no_step",
    ),
    Sabotage(
        "select/planning.py",
        "a size without an answer is too small",
        "if study.converged or not bridges or not has_middle:",
        "if True:",
        "tests/algorithm/test_evolution.py"
        "::test_a_size_without_an_answer_is_reached_by_way_of_sizes_between",
    ),
    Sabotage(
        "select/frames.py",
        "patients without a role are not looked at",
        "if _OWNER.search(name) and name not in spec.used]",
        "if _OWNER.search(name) and name in ask.used]",
        "tests/select/test_frames.py::test_numbers_of_patients_and_of_rows_are_suspected",
    ),
    Sabotage(
        "select/report.py",
        "repeated rows are decided by refits",
        "if unreliable and diagnostics.repeated:",
        "if False:",
        "tests/select/test_report.py::test_the_verdict_says_what_is_undecided",
    ),
    Sabotage(
        "select/error_control.py",
        "a threshold is lowered to where the bound hangs on a digit",
        "LEAST_THRESHOLD = 0.6",
        "LEAST_THRESHOLD = 0.5",
        "tests/select/test_stability_selection.py",
    ),
    Sabotage(
        "select/report.py",
        "what is undecided is called decided",
        "    if not selection.undecided.any():\n",
        "    if True:\n",
        "tests/select/test_report.py::test_the_verdict_says_what_is_undecided",
    ),
    Sabotage(
        "select/wording.py",
        "those who are hardly ever selected lead",
        "columns[np.argsort(-selection.probabilities[columns]",
        "columns[np.argsort(selection.probabilities[columns]",
        "tests/select/test_report.py::test_bars_are_those_of_the_leaders_with_their_intervals",
    ),
    Sabotage(
        "select/results.py",
        "predictions are made where nothing has converged",
        "if not self._known.fit.converged:",
        "if self._known.fit is None:",
        "tests/select/test_stability_selection.py",
    ),
    Sabotage(
        "select/target.py",
        "weights are not divided by the mean of those above 0",
        "weight=weight / weight[weight > 0].mean())",
        "weight=weight)",
        "tests/select/test_selection.py",
    ),
    Sabotage(
        "sketch.py",
        "the first names stand beside the leading rows",
        "np.asarray(names)[first]",
        "np.asarray(names)[: len(first)]",
        "tests/inference/test_effects.py::test_effects_have_names_and_a_level",
    ),
    Sabotage(
        "select/decoys.py",
        "columns of 0 and 1 are taken for normal ones",
        "1 + np.count_nonzero(steps, axis=0)",
        "2 + np.count_nonzero(steps, axis=0)",
        "tests/select/test_estimator.py"
        "::test_normal_decoys_of_few_values_are_warned_of",
    ),
    Sabotage(
        "select/frames.py",
        "a step ends where the next begins",
        "labels.isin(reached).astype(float)",
        "(labels == level).astype(float)",
        "tests/select/test_frames.py"
        "::test_an_ordered_category_has_a_column_for_each_step",
    ),
    Sabotage(
        "select/frames.py",
        "an exposure is added to the linear predictor as it is",
        "np.log(values[spec.exposure].to_numpy())",
        "values[ask.exposure].to_numpy()",
        "tests/select/test_frames.py::test_an_exposure_is_an_offset",
    ),
    Sabotage(
        "select/target.py",
        "a row of many trials weighs as one trial",
        "weight = rows.trials * weight",
        "weight = rows.trials**0 * weight",
        "tests/select/test_estimator_input.py"
        "::test_trials_are_rows_that_are_drawn_together",
    ),
    Sabotage(
        "select/target.py",
        "a share between the labels can be separated",
        "[0, 1] if target.loss",
        "y if target.loss",
        "tests/select/test_estimator_input.py"
        "::test_a_share_between_labels_separates_nothing",
    ),
    Sabotage(
        "select/features.py",
        "near copies share a coefficient twice",
        "return Merged(first, where, sign / copies[where], np.ones(len(first)))",
        "return Merged(first, where, sign, np.ones(len(first)))",
        "tests/select/test_stability_selection.py",
    ),
    Sabotage(
        "select/penalty.py",
        "the answer has the baseline at which the search began",
        "        base = moving.base\n",
        "        pass\n",
        "tests/select/test_selection.py"
        "::test_penalty_and_baseline_are_found_in_one_run",
    ),
    Sabotage(
        "select/penalty.py",
        "the answer may select more than q",
        "if trial.converged and question.size(trial.Pi) <= q:",
        "if trial.converged and question.size(trial.Pi) <= 1.1 * q:",
        "tests/select/test_stability_selection.py",
    ),
    Sabotage(
        "select/penalty.py",
        "the penalty goes away from where q are selected",
        "move = np.clip(excess / self.fall, -1, 1)",
        "move = np.clip(-excess / self.fall, -1, 1)",
        "tests/select/test_stability_selection.py::test_in_any_fields_the_penalty_that_goes_along_selects_q",
    ),
    Sabotage(
        "select/estimator.py",
        "between the steps of a small table every thread is awake",
        "with threads(X):",
        "if True:",
        "tests/algorithm/test_convergence.py::test_between_the_steps_a_small_table_has_one_thread_too",
    ),
    Sabotage(
        "select/penalty.py",
        "a penalty that goes along with some columns forgets the others",
        "few.others = self.others + seen.sum() - seen[which].sum()",
        "pass",
        "tests/select/test_stability_selection.py::test_a_penalty_that_goes_along_with_some_columns_counts_the_others",
    ),
    Sabotage(
        "algorithm/active.py",
        "a penalty that goes along waits for the whole table",
        ' or "of_columns" in vars(type(prior))',
        "",
        "tests/select/test_estimator_storage.py::test_few_columns_settle_while_the_penalty_goes_along",
    ),
    Sabotage(
        "select/penalty.py",
        "the penalty that goes along aims beyond q",
        "self.goal = 0.9985 * q",
        "self.goal = 1.01 * q",
        "tests/select/test_stability_selection.py::test_in_any_fields_the_penalty_that_goes_along_selects_q",
    ),
    Sabotage(
        "select/penalty.py",
        "a search that did not settle is taken for a start",
        "if last and changes[-1] < SETTLED:",
        "if last:",
        "tests/select/test_selection.py"
        "::test_what_does_not_settle_with_rows_alike_is_not_begun_there",
    ),
    Sabotage(
        "algorithm/resampling.py",
        "of very many rows those that are missing are drawn among the drawn",
        "others = np.flatnonzero(~is_drawn)",
        "others = np.flatnonzero(is_drawn)",
        "tests/algorithm/test_resampling.py"
        "::test_subsample_takes_every_subset_equally_often",
    ),
    Sabotage(
        "algorithm/lmmse.py",
        "in 32 bits the last panel stands for all",
        "np.add(total, gram, out=total)",
        "np.copyto(total, gram)",
        "tests/algorithm/test_lmmse.py::test_a_table_in_32_bits_gives_six_digits_in_64",
    ),
    Sabotage(
        "algorithm/active.py",
        "32 bits are taken of tall tables, too",
        "if not lmmse.is_wide(A) or in_groups",
        "if in_groups",
        "tests/select/test_selection.py"
        "::test_a_penalty_is_looked_for_in_32_bits_and_answered_in_64",
    ),
    Sabotage(
        "algorithm/lmmse.py",
        "rows that answer alike are twice as noisy",
        "kappa = Q * np.sum(",
        "kappa = 2 * Q * np.sum(",
        "nbs/workshop/lmmse.ipynb::module",
    ),
    Sabotage(
        "inference/refits.py",
        "a column that the refits missed stays out",
        "if not missed.any():",
        "if True:",
        "tests/select/test_estimator_storage.py::test_a_column_that_the_refits_miss_is_found",
    ),
    Sabotage(
        "select/predictions.py",
        "a bagged count is that of the mean linear predictor",
        "values = f(mean[rows][..., None] + deviations(rows))",
        "values = f(mean[rows][..., None]) + deviations(rows)",
        "tests/select/test_estimator.py",
    ),
    Sabotage(
        "select/readers.py",
        "a level of a category is taken for a gap",
        "    if words <= GAP_WORDS:",
        "    if True:",
        "tests/select/test_frames.py::test_a_word_among_words_is_a_level_unless_it_is_named",
    ),
    Sabotage(
        "select/frames.py",
        "the reference level has a column, too",
        'return coded.drop(columns=f"{name}={reference}"), reference',
        "return coded, reference",
        "tests/select/test_frames.py::test_levels_are_columns_against_the_reference",
    ),
    Sabotage(
        "tables/chunked.py",
        "zeros that are not stored do not count in a centred column's length",
        "squares = S.power(2).sum(0) + absent * zero**2",
        "squares = S.power(2).sum(0)",
        "tests/tables/test_chunked.py::test_every_kind_is_the_array",
    ),
    Sabotage(
        "tables/standardize.py",
        "the mean is mended in the wrong unit",
        "center = sums.mean + sums.total / M * sums.size",
        "center = sums.mean + sums.total / M",
        "tests/tables/test_standardize.py::test_standardised_lazily_is_standardised",
    ),
    Sabotage(
        "tables/dispatch.py",
        "a large file that is mapped is taken for an array in memory",
        "in_memory = A.dtype == float and not isinstance(A, np.memmap)",
        "in_memory = A.dtype == float",
        "tests/tables/test_chunked.py::test_which_tables_are_read_in_blocks",
    ),
    Sabotage(
        "tables/dask_table.py",
        "a chunk is asked for columns by their numbers in the table",
        "lines = None if wanted is None else j - self.slices[k].start",
        "lines = None if wanted is None else j",
        "tests/tables/test_dask_table.py::test_every_kind_of_chunks",
    ),
    Sabotage(
        "environment.py",
        "a file that replaces another has the permissions of a new one",
        "os.chmod(target.beside, target.mode)",
        "pass",
        "tests/algorithm/test_saving.py"
        "::test_what_is_written_over_keeps_its_permissions",
    ),
    Sabotage(
        "__init__.py",
        "what an old name is called now is lost in `from rvamp_nb import name`",
        'raise ImportError(f"module',
        'raise AttributeError(f"module',
        "tests/pages/test_imports.py::test_a_name_of_yesterday_names_that_of_today",
    ),
]


def misplaced(root=ROOT):
    """The sabotages whose text is not there exactly once in their room."""
    rooms = Path(root) / PACKAGE
    text = lambda room: (rooms / room).read_text(encoding="utf-8")
    return [s for s in SABOTAGES if text(s.room).count(s.right) != 1]


def copied(tree, place):
    """The files that a commit of everything in a tree would hold, in another place."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    said = subprocess.run(command, cwd=tree, capture_output=True, check=True).stdout
    for name in filter(None, said.decode().split("\0")):
        if (tree / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(tree / name, place / name)


def run(place, tests):
    """Run some tests in a copy: whether they passed, the first that failed ("" where
    none has), and all that pytest said.
    """
    env = os.environ | {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*PYTEST, *tests], cwd=place, env=env, capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    first = SAW.search(said) if done.returncode == 1 else None  # 1: tests were run
    return done.returncode == 0, first[1] if first else "", said


def seen(place, sabotage):
    """The first test that fails when a copy is sabotaged; "" where none does."""
    room = place / PACKAGE / sabotage.room
    text = room.read_text(encoding="utf-8")
    room.write_text(text.replace(sabotage.right, sabotage.wrong), encoding="utf-8")
    try:
        return run(place, sabotage.tests.split())[1]
    finally:
        room.write_text(text, encoding="utf-8")


def chosen(rooms):
    """The sabotages of these rooms, with or without .py; all, if none is named."""
    known = {Path(s.room).stem for s in SABOTAGES}
    wanted = {room.removesuffix(".py") for room in rooms}
    if wanted - known:
        raise SystemExit(f"no sabotage of {', '.join(sorted(wanted - known))}")
    return [s for s in SABOTAGES if not wanted or Path(s.room).stem in wanted]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="such as prior")
    parser.add_argument("--tree", type=Path, default=ROOT, metavar="FOLDER")
    args = parser.parse_args()
    tree, sabotages = args.tree.resolve(), chosen(args.rooms)
    stale = [s for s in misplaced(tree) if s in sabotages]
    for s in stale:
        print(f"{s.room}: {s.what}: the text is not there exactly once: {s.right!r}")
    sabotages, unseen = [s for s in sabotages if s not in stale], 0
    if not sabotages:
        sys.exit(1)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        copied(tree, place)
        tests = list(dict.fromkeys(test for s in sabotages for test in s.tests.split()))
        fine, _, said = run(place, tests)
        if not fine:
            sys.exit(f"{said}\nthe tests fail before anything is sabotaged")
        print(f"{len(tests)} tests pass as the rooms stand", flush=True)
        for s in sabotages:
            test = seen(place, s)
            unseen += not test
            result = f"seen by {test}" if test else "NOT SEEN"
            print(f"{s.room}: {s.what}: {result}", flush=True)
    print(f"{len(sabotages) - unseen} of {len(sabotages)} mistakes are seen")
    sys.exit(bool(unseen or stale))


if __name__ == "__main__":
    main()
