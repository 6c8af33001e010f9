# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.experimental.proxy_tensor import *
