# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.functional_rmsprop import _FunctionalRMSprop as _FunctionalRMSprop
