# Written by `python -m tools.facade_stubs --write`.
from tl_core.extensions.cpp_backtrace import *
