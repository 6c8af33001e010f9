# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.timer.debug_info_logging import *
