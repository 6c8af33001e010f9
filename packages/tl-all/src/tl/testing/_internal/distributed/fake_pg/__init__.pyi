# Written by `python -m tools.facade_stubs --write`.
from tl_distributed.stores.fake_store import *
