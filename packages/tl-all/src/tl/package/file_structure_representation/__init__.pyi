# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.package.file_structure_representation import *
