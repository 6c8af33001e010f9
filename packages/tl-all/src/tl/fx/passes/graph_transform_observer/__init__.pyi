# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.passes.graph_transform_observer import *
