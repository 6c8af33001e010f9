# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.fsdp.wrap import *
from tl_distributed.fsdp.wrap import _Policy as _Policy
