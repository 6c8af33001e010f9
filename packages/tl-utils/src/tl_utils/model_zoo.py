"""Former names of functions of `hub`."""

from tl_utils.hub import load_state_dict_from_url as load_url
from tl_utils.hub.downloads import download_url_to_file as _download_url_to_file  # noqa: F401
from tl_utils.hub.progress import __getattr__ as __getattr__  # tqdm, for those who take it from here

__all__ = ["load_url"]
