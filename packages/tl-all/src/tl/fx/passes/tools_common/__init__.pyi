# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.passes.tools_common import *
