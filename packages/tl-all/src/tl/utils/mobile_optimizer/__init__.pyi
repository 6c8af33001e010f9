# Written by `python -m tools.facade_stubs --write`.
from tl_utils.mobile_optimizer import *
