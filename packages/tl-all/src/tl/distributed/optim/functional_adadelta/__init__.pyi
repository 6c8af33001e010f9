# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.functional_adadelta import _FunctionalAdadelta as _FunctionalAdadelta
