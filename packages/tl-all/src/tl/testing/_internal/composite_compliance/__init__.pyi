# Written by `python -m tools.facade_stubs --write`.
from tl_core.testing.composite_compliance import *
