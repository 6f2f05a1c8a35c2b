"""Checks that an object of a user's has the methods and attributes that are needed.

A prior, a loss or a law of counts is asked for some methods and nothing else, so an
object of your own will do. What is asked is written down once for each role: for laws
in chapter 1.2, for priors in chapter 3.1, for losses in chapter 3.2. These checks serve
them all; whether the methods agree with each other is checked by
`algorithm.protocols`.

>>> from rvamp_nb.algorithm.resampling import Poisson
>>> from rvamp_nb.interface import check_interface, lacking
>>> lacking(Poisson(0.5), ("draw", "nodes")), lacking("half", ("draw", "nodes"))
([], ['draw', 'nodes'])
>>> check_interface("law", "half", ("draw", "nodes"), "a law such as Poisson(0.5)")
Traceback (most recent call last):
    ...
TypeError: law must be a law such as Poisson(0.5), got 'half': it has no draw and ...
"""

__all__ = ["lacking", "check_interface"]


def lacking(value, parts):
    """Return those of the `parts`, methods and attributes, that an object does not
    have.
    """
    return [part for part in parts if not hasattr(value, part)]


def check_interface(name, value, parts, wanted, kind=object):
    """Refuse (TypeError) a class, what is not of a `kind`, and an object without some
    of the `parts` that it will be asked for. `wanted`: "a law such as Poisson(0.5)".
    """
    if isinstance(value, type):
        raise TypeError(f"{name} must be {wanted}, not the class {value.__name__}")
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {wanted}, got {value!r}")
    missing = lacking(value, parts)
    if missing:
        raise TypeError(
            f"{name} must be {wanted}, got {value!r}: it has no"
            f" {' and no '.join(missing)}"
        )
