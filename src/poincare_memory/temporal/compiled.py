"""Built-in policies as rows of numbers, which the scan reads; the door for policies of the user's own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .evaluation import checked_weights, factor_table
from .policies import DecayPolicy, factor_row, factors_of

__all__ = ["checked_weights", "compile_policy"]


def compile_policy(policy: DecayPolicy) -> npt.NDArray[np.float64] | None:
    """Rows ``[kind, a, b]``, one a factor, or None for a policy that only its own ``weight`` can evaluate.

    Only the built-in classes themselves compile: a subclass may override ``weight``.

    Examples
    --------
    >>> from poincare_memory import HalfLife, NoDecay, Product, ValidityWindow
    >>> compile_policy(Product(HalfLife(24), NoDecay(), ValidityWindow(0.1)))
    array([[ 0. , 24. ,  0. ],
           [ 2. ,  0.1,  0. ]])
    """
    rows = []
    for factor in factors_of(policy):
        row = factor_row(factor)
        if row is None:
            return None
        rows.append(row)
    return factor_table(rows)
