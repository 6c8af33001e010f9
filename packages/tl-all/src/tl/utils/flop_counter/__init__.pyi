# Written by `python -m tools.facade_stubs --write`.
from tl_utils.flop_counter import *
from tl_utils.flop_counter import _Counting as _Counting
