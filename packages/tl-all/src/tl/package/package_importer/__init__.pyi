# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.package.package_importer import *
from tl_compiler.package.package_importer import _Node as _Node
from tl_compiler.package.package_importer import _ResourceReader as _ResourceReader
