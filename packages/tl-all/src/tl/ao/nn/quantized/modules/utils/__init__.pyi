# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.layer_helpers import _hide_packed_params_repr as _hide_packed_params_repr
from tl_quantization.compat.layer_helpers import _ntuple_from_first as _ntuple_from_first
from tl_quantization.compat.layer_helpers import _pair_from_first as _pair_from_first
from tl_quantization.compat.layer_helpers import _quantize_weight as _quantize_weight
from tl_quantization.nn.quantized.modules.utils import *
