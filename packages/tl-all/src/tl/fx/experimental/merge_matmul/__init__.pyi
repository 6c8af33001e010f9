# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.merge_matmul import *
from tl_compiler.fx._symbolic_trace import symbolic_trace as symbolic_trace
from tl_compiler.fx.node import Node as Node
