# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.meta_tracer import *
from tl_compiler.compat.experimental.meta_tracer import _UnknownError as _UnknownError
