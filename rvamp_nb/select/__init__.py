"""From a table to a list: error control, planning, the estimator, its report."""
