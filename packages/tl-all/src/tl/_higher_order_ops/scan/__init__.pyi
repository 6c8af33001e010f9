# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.higher_order.loops import *
