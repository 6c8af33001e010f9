# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.package.importer import *
from tl_compiler.package.importer import _SysImporter as _SysImporter
