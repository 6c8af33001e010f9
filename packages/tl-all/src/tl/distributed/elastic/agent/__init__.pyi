# Written by `python -m tools.facade_stubs --write`.
from . import server as server
