"""What stands on the algorithm: the light, twins and rows that matter, weights, offsets
and survival.
"""
