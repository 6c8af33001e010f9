# Written by `python -m tools.facade_stubs --write`.
from . import iter as iter
from . import map as map
