# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.multiprocessing.subprocess_handler.handlers import *
