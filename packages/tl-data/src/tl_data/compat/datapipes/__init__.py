"""Pipes: datasets made of small steps, as older programs write them. New programs need none of this: see `tl_data`."""

from . import iter as iter  # noqa: A004
from . import map as map  # noqa: A004
