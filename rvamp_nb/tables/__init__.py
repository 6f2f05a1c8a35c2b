"""Where a table lies: in memory, in blocks, on workers. Below the algorithm: nothing
here knows what a fit is.
"""
