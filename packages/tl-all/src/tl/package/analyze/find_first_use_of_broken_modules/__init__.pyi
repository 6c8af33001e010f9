# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.package.analyze.find_first_use_of_broken_modules import *
