# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.package.find_file_dependencies import *
from tl_compiler.package.find_file_dependencies import _ImportsFinder as _ImportsFinder
