# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.utils import Pattern as Pattern
from tl_quantization.utils import QuantizerCls as QuantizerCls
