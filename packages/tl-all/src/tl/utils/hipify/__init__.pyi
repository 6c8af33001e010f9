# Written by `python -m tools.facade_stubs --write`.
from . import hipify_python as hipify_python
