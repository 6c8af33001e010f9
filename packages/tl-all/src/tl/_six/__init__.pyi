# Written by `python -m tools.facade_stubs --write`.
from collections import abc as _container_abcs_

from tl_core.compat.six import inf as inf
from tl_core.compat.six import int_classes as int_classes
from tl_core.compat.six import nan as nan
from tl_core.compat.six import string_classes as string_classes

container_abcs = _container_abcs_
