# Written by `python -m tools.facade_stubs --write`.
from tl_core.tensors.foreach_utils import *
