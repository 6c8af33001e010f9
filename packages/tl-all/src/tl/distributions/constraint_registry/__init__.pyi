# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.constraint_registry import *
