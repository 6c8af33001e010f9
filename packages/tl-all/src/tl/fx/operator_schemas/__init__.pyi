# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.operator_schemas import *
