# Written by `python -m tools.facade_stubs --write`.
from tl_utils.benchmark.utils.compare import *
from tl_utils.benchmark.utils.compare import _Column as _Column
from tl_utils.benchmark.utils.compare import _Style as _Style
from tl_utils.benchmark.utils.compare import _Table as _Table
