# Written by `python -m tools.facade_stubs --write`.
from tl_core.api.build_config import *
