# Written by `python -m tools.facade_stubs --write`.
from tl_nn.compat.line_search import _cubic_interpolate as _cubic_interpolate
from tl_nn.compat.line_search import _strong_wolfe as _strong_wolfe
from tl_nn.optim.lbfgs import *
from tl_nn.optim.lbfgs import _Descent as _Descent
