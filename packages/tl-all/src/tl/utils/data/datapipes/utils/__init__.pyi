# Written by `python -m tools.facade_stubs --write`.
from . import common as common
from . import decoder as decoder
from . import snapshot as snapshot
