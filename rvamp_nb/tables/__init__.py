"""Where a table lies: in memory, in blocks, on workers. Below the algorithm: nothing
here knows what a fit is.
"""

from .chunked import ChunkedTable
from .dask_table import DaskTable

__all__ = ["ChunkedTable", "DaskTable"]
