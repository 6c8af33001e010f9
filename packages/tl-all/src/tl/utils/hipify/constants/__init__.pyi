# Written by `python -m tools.facade_stubs --write`.
from tl_utils.compat.hipify.constants import *
