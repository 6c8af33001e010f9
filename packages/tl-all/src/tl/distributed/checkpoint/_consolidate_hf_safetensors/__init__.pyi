# Written by `python -m tools.facade_stubs --write`.
from ....distributed.checkpoint.hf_storage import *
