# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.rewriter import *
from tl_compiler.fx._symbolic_trace import Tracer as Tracer
from tl_compiler.fx.graph import Graph as Graph
