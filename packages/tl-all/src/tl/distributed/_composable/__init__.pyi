# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.parallel.replicate import replicate as replicate

from . import fsdp as fsdp
