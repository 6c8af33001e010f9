# Written by `python -m tools.facade_stubs --write`.
from . import numbers as numbers
from . import value_ranges as value_ranges
