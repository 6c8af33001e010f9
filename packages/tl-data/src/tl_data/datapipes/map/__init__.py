"""Steps of maps."""

from .callable import Mapper as Mapper
from .combinatorics import Shuffler as Shuffler
from .combining import Concater as Concater
from .combining import Zipper as Zipper
from .grouping import Batcher as Batcher
from .utils import SequenceWrapper as SequenceWrapper
