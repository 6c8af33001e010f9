# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.pipelining.schedules import *
from tl_distributed.pipelining.schedules import _Schedule as _Schedule
