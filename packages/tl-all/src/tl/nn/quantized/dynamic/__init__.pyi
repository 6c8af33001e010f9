# Written by `python -m tools.facade_stubs --write`.
from ....ao.nn.quantized.dynamic import *
