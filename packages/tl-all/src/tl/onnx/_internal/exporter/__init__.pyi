# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.onnx_names import *

from . import _core as _core
from . import _testing as _testing
