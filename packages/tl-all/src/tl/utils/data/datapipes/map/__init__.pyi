# Written by `python -m tools.facade_stubs --write`.
from tl_data.compat.datapipes.map.callable import MapperMapDataPipe as _Mapper_
from tl_data.compat.datapipes.map.combinatorics import ShufflerIterDataPipe as _Shuffler_
from tl_data.compat.datapipes.map.combining import ConcaterMapDataPipe as _Concater_
from tl_data.compat.datapipes.map.combining import ZipperMapDataPipe as _Zipper_
from tl_data.compat.datapipes.map.grouping import BatcherMapDataPipe as _Batcher_
from tl_data.compat.datapipes.map.utils import SequenceWrapperMapDataPipe as _SequenceWrapper_

from . import callable as callable
from . import combinatorics as combinatorics
from . import combining as combining
from . import grouping as grouping
from . import utils as utils

Batcher = _Batcher_
Concater = _Concater_
Mapper = _Mapper_
SequenceWrapper = _SequenceWrapper_
Shuffler = _Shuffler_
Zipper = _Zipper_
