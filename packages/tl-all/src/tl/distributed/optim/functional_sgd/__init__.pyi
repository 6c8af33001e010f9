# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.functional_sgd import _FunctionalSGD as _FunctionalSGD
