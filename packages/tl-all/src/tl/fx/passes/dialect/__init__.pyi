# Written by `python -m tools.facade_stubs --write`.
from . import common as common
