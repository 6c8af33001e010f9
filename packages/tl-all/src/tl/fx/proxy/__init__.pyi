# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.proxy import *
from tl_compiler.fx.proxy import GraphAppendingTracer as GraphAppendingTracer
