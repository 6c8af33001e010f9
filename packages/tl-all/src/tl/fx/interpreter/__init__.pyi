# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.interpreter import *
from tl_compiler.fx.interpreter import _TransformerTracer as _TransformerTracer
