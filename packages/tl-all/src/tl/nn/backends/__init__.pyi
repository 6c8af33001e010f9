# Written by `python -m tools.facade_stubs --write`.
from . import thnn as thnn
