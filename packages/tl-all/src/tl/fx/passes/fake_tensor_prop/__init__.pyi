# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.passes.fake_tensor_prop import *
