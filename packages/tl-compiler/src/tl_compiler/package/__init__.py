"""Packages: models with the Python code that they need, and any other data, in one file.

Only load packages that you trust: their code is executed, and so is what their pickles say. A package whose bytes were
damaged on the way is refused, but nothing tells a package by a friend from one by an enemy.

>>> import io
>>> file = io.BytesIO()
>>> with PackageExporter(file) as exporter:
...     exporter.save_source_string("greeting", "def hello(name): return f'hello, {name}'")
...     exporter.save_text("notes", "first.txt", "a note")
>>> _ = file.seek(0)
>>> importer = PackageImporter(file)
>>> importer.import_module("greeting").hello("you"), importer.load_text("notes", "first.txt")
('hello, you', 'a note')
"""

from .analyze.is_from_package import is_from_package
from .file_structure_representation import Directory
from .glob_group import GlobGroup
from .importer import Importer, ObjMismatchError, ObjNotFoundError, OrderedImporter, sys_importer
from .package_exporter import EmptyMatchError, PackageExporter, PackagingError
from .package_importer import PackageImporter

__all__ = [
    "Directory",
    "EmptyMatchError",
    "GlobGroup",
    "Importer",
    "ObjMismatchError",
    "ObjNotFoundError",
    "OrderedImporter",
    "PackageExporter",
    "PackageImporter",
    "PackagingError",
    "is_from_package",
    "sys_importer",
]
