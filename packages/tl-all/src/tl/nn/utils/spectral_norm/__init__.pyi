# Written by `python -m tools.facade_stubs --write`.
from tl_nn.utils.spectral_norm import *
