# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.optim.functional_adamw import _FunctionalAdamW as _FunctionalAdamW
