"""Entry point of ``python -m gblock``, the same as the command ``gblock``.

Python puts the working directory in front of the import path. It is removed before anything else is
imported: the checked project may have a module called ``yaml``.
"""

import os
import sys

if not getattr(sys.flags, "safe_path", False) and sys.path[:1] in ([""], [os.getcwd()]):
    del sys.path[0]

from gblock.cli import main

raise SystemExit(main())
