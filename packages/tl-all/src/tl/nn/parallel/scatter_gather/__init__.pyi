# Written by `python -m tools.facade_stubs --write`.
from tl_nn.compat.named_tuples import _is_namedtuple as _is_namedtuple
from tl_nn.compat.named_tuples import is_namedtuple as is_namedtuple
from tl_nn.parallel.scatter_gather import *
