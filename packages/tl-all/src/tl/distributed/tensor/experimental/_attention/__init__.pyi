# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.tensor.experimental.attention import *
from tl_distributed.tensor.experimental.attention import _RingAttention as _RingAttention
