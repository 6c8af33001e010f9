# Written by `python -m tools.facade_stubs --write`.
from tl_utils.collect_env import *
from tl_utils.collect_env import get_clang_version as get_clang_version
from tl_utils.collect_env import get_cmake_version as get_cmake_version
from tl_utils.collect_env import get_conda_packages as get_conda_packages
from tl_utils.collect_env import get_cpu_info as get_cpu_info
from tl_utils.collect_env import get_gcc_version as get_gcc_version
from tl_utils.collect_env import get_libc_version as get_libc_version
from tl_utils.collect_env import get_os as get_os
from tl_utils.collect_env import get_pip_packages as get_pip_packages
from tl_utils.collect_env import run_and_parse_first_match as run_and_parse_first_match
from tl_utils.collect_env import run_and_read_all as run_and_read_all
from tl_utils.collect_env import run_and_return_first_line as run_and_return_first_line
