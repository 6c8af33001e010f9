# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.higher_order import *
from tl_compiler.higher_order import _Package as _Package

from . import associative_scan as associative_scan
from . import map as map
from . import scan as scan
from . import torchbind as torchbind
from . import while_loop as while_loop
