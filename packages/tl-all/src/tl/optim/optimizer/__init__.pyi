# Written by `python -m tools.facade_stubs --write`.
from tl_nn.optim.optimizer import *
from tl_nn.optim.optimizer import _RequiredParameter as _RequiredParameter
