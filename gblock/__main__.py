"""``python -m gblock``: the same as the command ``gblock``."""

from gblock.cli import main

raise SystemExit(main())
