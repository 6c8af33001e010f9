# Written by `python -m tools.facade_stubs --write`.
from ...ao.quantization.fake_quantize import *
