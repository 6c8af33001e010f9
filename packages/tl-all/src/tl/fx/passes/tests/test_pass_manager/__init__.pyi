# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.compat.pass_tests.test_pass_manager import *
