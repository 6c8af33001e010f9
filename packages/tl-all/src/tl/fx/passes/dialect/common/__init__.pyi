# Written by `python -m tools.facade_stubs --write`.
from . import cse_pass as cse_pass
