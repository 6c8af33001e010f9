"""Datasets on files: images in folders, tables, token files, tar shards. Each needs its library when it is used.

| source | library | extra |
|---|---|---|
| `ImageFolder` | Pillow | `tl-data[images]` |
| `Table`, `TableStream` | pyarrow | `tl-data[tables]` |
| `TokenFile` | numpy | `tl-data[numpy]` |
| `TarShards` | none; numpy and Pillow for what they decode | |
"""

from .images import ImageFolder as ImageFolder
from .images import decode_image as decode_image
from .pieces import PieceStream as PieceStream
from .shards import TarShards as TarShards
from .tables import Table as Table
from .tables import TableStream as TableStream
from .tokens import TokenFile as TokenFile
