# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.collectives.collective_utils import *
