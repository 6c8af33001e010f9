# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.package import *

from . import analyze as analyze
from . import file_structure_representation as file_structure_representation
from . import find_file_dependencies as find_file_dependencies
from . import glob_group as glob_group
from . import importer as importer
from . import package_exporter as package_exporter
from . import package_importer as package_importer
