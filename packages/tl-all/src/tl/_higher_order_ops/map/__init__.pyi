# Written by `python -m tools.facade_stubs --write`.
from ..._higher_order_ops.scan import *
