"""Makes `torch` another name of tl when imported: fork servers load it before anything that says `import torch`."""

from tl.torch import install

install()
