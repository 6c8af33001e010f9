# Written by `python -m tools.facade_stubs --write`.
from . import windows as windows
