"""Algorithm 1 as a textbook has it (its misprints mended): dense inverses and plain
subtractions, sharing no code with the package.

It is the reference for the tests, good only where nothing cancels. Messages are triples
(Q_hat, h, chi_hat).
"""

import numpy as np
from scipy.stats import norm, poisson


def prior_moments(message, lam, factors=(1.0, 2.0)):
    """Mean, response and variance across resamples of soft-thresholded fields; each
    factor of lam equally likely.
    """
    (Q, h, chi_hat), k = message, len(factors)
    s, mean, square, Pi = np.sqrt(chi_hat), 0.0, 0.0, 0.0

    def first(t):
        """Mean of the positive part of a standard normal number plus t."""
        return t * norm.cdf(t) + norm.pdf(t)

    def second(t):
        """Mean of its square."""
        return (t**2 + 1) * norm.cdf(t) + t * norm.pdf(t)

    for factor in factors:
        a, b = (h - factor * lam) / s, (-h - factor * lam) / s
        mean = mean + s * (first(a) - first(b)) / Q / k
        square = square + chi_hat * (second(a) + second(b)) / Q**2 / k
        Pi = Pi + (norm.cdf(a) + norm.cdf(b)) / k
    return mean, Pi / Q, square - mean**2


def likelihood_moments(y, message, tau):
    """The same of u = c (y - f) / (1 + c V), f a field of mean -h and variance
    chi_hat, c a Poisson number.
    """
    V, h, chi_hat = message
    c = np.arange(60.0)[:, None]
    w = poisson.pmf(c, tau)
    g = c / (1 + c * V)
    mean = (w * g).sum(0) * (y + h)
    return mean, (w * g).sum(0), (w * g**2).sum(0) * ((y + h) ** 2 + chi_hat) - mean**2


def coupling_moments(A, of_x, of_u, inverse=np.linalg.inv):
    """Moments of x and of u in the joint Gaussian (`inverse` is what the variances
    use: the printed algorithm forgets to invert).
    """
    (Q_x, h_x, chi_hat_x), (Q_u, h_u, chi_hat_u) = of_x, of_u
    Lambda_x = np.diag(Q_x) + A.T @ (A / Q_u[:, None])
    Lambda_u = np.diag(Q_u) + (A / Q_x) @ A.T
    x = np.linalg.solve(Lambda_x, h_x + A.T @ (h_u / Q_u))
    u = np.linalg.solve(Lambda_u, h_u - A @ (h_x / Q_x))
    S_x, S_u = inverse(Lambda_x), inverse(Lambda_u)
    v_x = S_x**2 @ chi_hat_x + (S_x @ A.T / Q_u) ** 2 @ chi_hat_u
    v_u = S_u**2 @ chi_hat_u + (S_u @ A / Q_x) ** 2 @ chi_hat_x
    chi_x, chi_u = np.diag(np.linalg.inv(Lambda_x)), np.diag(np.linalg.inv(Lambda_u))
    return (x, chi_x, v_x), (u, chi_u, v_u)


def extrinsic(moments, message):
    """What the moments say beyond the message that came in."""
    (mean, chi, v), (Q, h, chi_hat) = moments, message
    return 1 / chi - Q, mean / chi - h, v / chi**2 - chi_hat


def step(A, y, lam, tau, to_prior, to_likelihood, factors=(1.0, 2.0)):
    """One turn: the messages that go out, and the prior's moments on the way."""
    x = prior_moments(to_prior, lam, factors)
    from_prior = extrinsic(x, to_prior)
    u = likelihood_moments(y, to_likelihood, tau)
    from_likelihood = extrinsic(u, to_likelihood)
    both = coupling_moments(A, from_prior, from_likelihood)
    return extrinsic(both[0], from_prior), extrinsic(both[1], from_likelihood), x


def optimality_gap(A, y, lam, counts, x):
    """How far x is from the optimality conditions of the weighted Lasso, over lam."""
    lam = np.broadcast_to(lam, A.shape[1])
    pull = A.T @ (counts * (y - A @ x))
    beyond = np.maximum(np.abs(pull) - lam, 0)
    off = np.where(x == 0, beyond, np.abs(pull - lam * np.sign(x)))
    return float(np.max(off / lam))
