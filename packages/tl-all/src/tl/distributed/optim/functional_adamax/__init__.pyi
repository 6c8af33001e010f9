# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.functional_adamax import _FunctionalAdamax as _FunctionalAdamax
