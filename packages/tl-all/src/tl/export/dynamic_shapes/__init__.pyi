# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.export.dynamic_shapes import *
from tl_compiler.export.dynamic_shapes import _Constraint as _Constraint
from tl_compiler.export.dynamic_shapes import _ConstraintTarget as _ConstraintTarget
from tl_compiler.export.dynamic_shapes import _DerivedConstraint as _DerivedConstraint
from tl_compiler.export.dynamic_shapes import _DerivedDim as _DerivedDim
from tl_compiler.export.dynamic_shapes import _DimHint as _DimHint
from tl_compiler.export.dynamic_shapes import _DimHintType as _DimHintType
from tl_compiler.export.dynamic_shapes import _IntWrapper as _IntWrapper
from tl_compiler.export.dynamic_shapes import _RelaxedConstraint as _RelaxedConstraint
from tl_compiler.export.dynamic_shapes import _StaticDim as _StaticDim
