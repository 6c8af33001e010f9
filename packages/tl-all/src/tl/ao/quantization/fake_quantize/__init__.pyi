# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.observer_names import _is_fake_quant_script_module as _is_fake_quant_script_module
from tl_quantization.compat.observer_names import _is_per_channel as _is_per_channel
from tl_quantization.compat.observer_names import _is_per_tensor as _is_per_tensor
from tl_quantization.compat.observer_names import _is_symmetric_quant as _is_symmetric_quant
from tl_quantization.fake_quantize import *
from tl_quantization.observer_base import _Partial as _Partial
