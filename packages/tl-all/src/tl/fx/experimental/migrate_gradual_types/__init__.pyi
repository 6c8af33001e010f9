# Written by `python -m tools.facade_stubs --write`.
from . import constraint as constraint
from . import constraint_generator as constraint_generator
from . import constraint_transformation as constraint_transformation
from . import operation as operation
from . import transform_to_z3 as transform_to_z3
from . import util as util
from . import z3_types as z3_types
