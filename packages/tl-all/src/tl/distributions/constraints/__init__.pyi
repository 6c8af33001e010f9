# Written by `python -m tools.facade_stubs --write`.
from tl_distributions.constraints import *
from tl_distributions.constraints import _Boolean as _Boolean
from tl_distributions.constraints import _Bounded as _Bounded
from tl_distributions.constraints import _Cat as _Cat
from tl_distributions.constraints import _CorrCholesky as _CorrCholesky
from tl_distributions.constraints import _Dependent as _Dependent
from tl_distributions.constraints import _DependentProperty as _DependentProperty
from tl_distributions.constraints import _GreaterThan as _GreaterThan
from tl_distributions.constraints import _GreaterThanEq as _GreaterThanEq
from tl_distributions.constraints import _HalfOpenInterval as _HalfOpenInterval
from tl_distributions.constraints import _IndependentConstraint as _IndependentConstraint
from tl_distributions.constraints import _IntegerGreaterThan as _IntegerGreaterThan
from tl_distributions.constraints import _IntegerInterval as _IntegerInterval
from tl_distributions.constraints import _IntegerLessThan as _IntegerLessThan
from tl_distributions.constraints import _Interval as _Interval
from tl_distributions.constraints import _LessThan as _LessThan
from tl_distributions.constraints import _LowerCholesky as _LowerCholesky
from tl_distributions.constraints import _LowerTriangular as _LowerTriangular
from tl_distributions.constraints import _Multinomial as _Multinomial
from tl_distributions.constraints import _OneHot as _OneHot
from tl_distributions.constraints import _PositiveDefinite as _PositiveDefinite
from tl_distributions.constraints import _PositiveSemidefinite as _PositiveSemidefinite
from tl_distributions.constraints import _Real as _Real
from tl_distributions.constraints import _Simplex as _Simplex
from tl_distributions.constraints import _Square as _Square
from tl_distributions.constraints import _Stack as _Stack
from tl_distributions.constraints import _Symmetric as _Symmetric
