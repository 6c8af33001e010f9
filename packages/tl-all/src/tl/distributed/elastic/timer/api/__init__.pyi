# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.elastic.timer.api import *
