# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.timer.file_based_local_timer import *
from tl_distributed.elastic.timer.file_based_local_timer import _PipeQueue as _PipeQueue
