# Written by `python -m tools.facade_stubs --write`.
from ...utils._pytree import *
