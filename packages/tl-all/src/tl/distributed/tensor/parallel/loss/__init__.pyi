# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.tensor.parallel.loss import *
from tl_distributed.tensor.parallel.loss import _Classes as _Classes
