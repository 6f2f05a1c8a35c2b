"""Where a table lies: in memory, in blocks, on workers. Below the algorithm: nothing
here knows what a fit is.
"""

from .chunked import ChunkedTable as ChunkedTable
from .dask_table import DaskTable as DaskTable
