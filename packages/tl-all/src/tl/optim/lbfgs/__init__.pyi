# Written by `python -m tools.facade_stubs --write`.
from tl_nn.optim.lbfgs import *
from tl_nn.optim.lbfgs import _Descent as _Descent
