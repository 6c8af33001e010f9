"""`torch._six`: names from the time of two Pythons."""

import collections.abc as container_abcs
from builtins import int as int_classes
from builtins import str as string_classes
from math import inf, nan

__all__ = ["container_abcs", "inf", "int_classes", "nan", "string_classes"]

istuple, PY37 = tuple, True
