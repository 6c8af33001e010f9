# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.multiprocessing.tail_log import TailLog as TailLog
