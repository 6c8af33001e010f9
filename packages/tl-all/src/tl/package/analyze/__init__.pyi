# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.package.analyze import *

from . import is_from_package as is_from_package
