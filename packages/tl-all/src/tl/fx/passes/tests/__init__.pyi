# Written by `python -m tools.facade_stubs --write`.
from . import test_pass_manager as test_pass_manager
