# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.qat.dynamic.modules.linear import Linear as Linear

from . import modules as modules
