# Written by `python -m tools.facade_stubs --write`.
<<<<<<< HEAD
from tl_core.compat.triton import *
=======
from tl_core.compat.triton_meta import *
>>>>>>> 6600e970 (all, core, compiler: add the names that torchao imports)
