# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.fsdp.managed_states import *
