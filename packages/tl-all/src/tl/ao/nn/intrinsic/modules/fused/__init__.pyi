# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.intrinsic.modules.fused import *
from tl_quantization.nn.intrinsic.modules.fused import _FusedModule as _FusedModule
