"""What stands on the algorithm: refits, diagnostics, clusters of columns,
influential rows, effects, weights, offsets and survival.
"""
