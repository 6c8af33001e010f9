# Written by `python -m tools.facade_stubs --write`.
from . import config as config
