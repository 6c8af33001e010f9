# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.fake_quantize import *
from tl_quantization.observer_base import _Partial as _Partial
