"""`python -m tl`: the command `tl`."""

import sys

from tl_commands import main

if __name__ == "__main__":
    sys.exit(main())
