# Written by `python -m tools.facade_stubs --write`.
from tl_core.extensions.cpp_extension import *
from tl_core.extensions.cpp_extension import _Job as _Job
