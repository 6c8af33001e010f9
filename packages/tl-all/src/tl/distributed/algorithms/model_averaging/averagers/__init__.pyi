# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.algorithms.model_averaging.averagers import *
