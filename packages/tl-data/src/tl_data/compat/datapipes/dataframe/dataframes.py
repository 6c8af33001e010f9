"""Data frames in pipes are left out; the names raise."""

from . import missing

__getattr__ = missing(__name__)
