# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.functional_adam import _FunctionalAdam as _FunctionalAdam
