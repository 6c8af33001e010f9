"""The names under which programs written for the reference find what stands elsewhere here."""

from . import collate as collate
from . import pin_memory as pin_memory
from . import worker as worker
