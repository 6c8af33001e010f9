# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.functional_rprop import _FunctionalRprop as _FunctionalRprop
