"""``unknown-native-call``: a call into a compiled package that nobody has measured."""

from __future__ import annotations

from gblock.call_rule import BlockerRule
from gblock.project.calls.sites import Found


class UnknownNativeCall(BlockerRule):
    """A call goes into a compiled package of which the catalog knows nothing.

    ## What it does

    Looks at the packages that are installed, in the environment that `--python` or the setting
    `python` names or else in the one gblock runs in. Reports calls into those that have compiled
    modules and that the catalog says nothing of: their functions, their classes and the methods of
    objects made of these. Off unless selected. Which packages these are `gblock deps` lists.

    ## Why it blocks the hub

    Compiled code does not know the hub. Most of it works for a moment and returns; what waits, for
    a server, a lock or a device, stops every greenlet of the process. Nobody has looked which of
    the two this is.

    ## Use instead

    Measure the call: `gblock trial`. Then say what came of it in a catalog of your own
    (`extend-catalog`): a block `[[harmless]]` for the package, or a `[[blocker]]` for the call.

    ## Limits

    Where the machine code of a package can be read (see `gblock deps --native`), the message says
    what a call waits in; that is no measurement, and its silence means nothing. For the rest a
    package counts as a whole: that a call ends in its compiled half is not made sure of. What a
    function of the package returns is not known, so calls on it are not reported. What other
    packages do with it is not looked at.
    """

    name = "unknown-native-call"
    since = "0.1.0"
    on_by_default = False
    kinds = frozenset({"unknown"})

    VALID = {
        "a package without compiled modules": """
            import pluggy

            manager = pluggy.PluginManager("shop")
            """,
        "a package that the catalog knows to be harmless": """
            import markupsafe

            text = markupsafe.escape("<b>")
            """,
    }
    INVALID = {
        "a function and a class of a package of one's own": """
            import shop_scanner

            def scan(device):
                scanner = shop_scanner.Scanner(device)  # expect: unknown-native-call
                if shop_scanner.is_open(device):  # expect: unknown-native-call
                    return scanner.read()  # expect: unknown-native-call
                raise shop_scanner.ScannerError(device)
            """,
    }

    def effect(self, found: Found) -> str:
        """Return what the machine code says, where it says anything of this call."""
        blocker = found.blocker
        if not blocker.symbols[0].endswith(".**"):
            return f"goes into {blocker.distribution}: {blocker.why}; `gblock trial` tells more"
        package = blocker.distribution
        return f"goes into {package}, compiled code that nothing is known of: `gblock trial` tells"

    def is_meant(self, found: Found) -> bool:
        """An exception is made to be raised, and waits for nothing."""
        name = found.symbol.rpartition(".")[2]
        return not name.endswith(("Error", "Exception", "Warning"))
