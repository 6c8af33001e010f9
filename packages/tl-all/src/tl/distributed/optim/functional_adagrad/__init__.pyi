# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.functional_adagrad import _FunctionalAdagrad as _FunctionalAdagrad
