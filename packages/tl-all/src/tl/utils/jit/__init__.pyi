# Written by `python -m tools.facade_stubs --write`.
from . import log_extract as log_extract
