# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.onnx_names import *
