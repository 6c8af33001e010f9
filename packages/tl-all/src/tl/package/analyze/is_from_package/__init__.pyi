# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.package.analyze.is_from_package import *
