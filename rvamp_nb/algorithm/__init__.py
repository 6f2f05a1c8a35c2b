"""A fit: what prior, loss and table answer each other, until nothing moves. Above
the tables, below what is inferred and selected: nothing here knows an estimator.
"""
