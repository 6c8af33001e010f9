# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.nn.qat.dynamic import modules as modules
from tl_quantization.nn.qat.dynamic.modules.linear import Linear as Linear
