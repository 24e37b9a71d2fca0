"""`gblock server`: the language server for editors."""

from __future__ import annotations

import os
import sys

from gblock.commandline.console import CLEAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gblock.commandline.options import Options


def run(options: Options) -> int:
    """Serve an editor until it ends the server, or closes standard input."""
    # `python -m` imports from the working directory first, which is the editor's workspace.
    here = os.getcwd()
    sys.path[:] = [path for path in sys.path if path and os.path.abspath(path) != here]
    from gblock.server.language import serve
    from gblock.server.options import ServerOptions

    config = os.path.abspath(options.config) if options.config else None
    serve(
        ServerOptions(
            config,
            options.isolated,
            options.min_severity,
            options.all_contexts,
            tuple(options.observed),
        )
    )
    return CLEAN
