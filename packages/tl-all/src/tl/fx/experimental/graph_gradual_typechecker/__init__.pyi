# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.experimental.graph_gradual_typechecker import *
from tl_compiler.compat.experimental.graph_gradual_typechecker import flatten_check as flatten_check
from tl_compiler.compat.experimental.graph_gradual_typechecker import linear_check as linear_check
from tl_compiler.compat.experimental.graph_gradual_typechecker import maxpool2d_check as maxpool2d_check
