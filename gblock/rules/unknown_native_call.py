"""``unknown-native-call``: a call into a compiled package without a measurement."""

from __future__ import annotations

from gblock.call_rule import BlockerRule
from gblock.project.calls.sites import Found


class UnknownNativeCall(BlockerRule):
    """A call enters a compiled package that the catalog does not list.

    ## What it does

    Examines the installed packages of the environment that `--python` or the setting `python`
    names, by default the one gblock runs in. Reports calls into packages that have compiled modules
    and are not in the catalog: their functions, their classes and the methods of objects of these
    classes. Off unless selected. `gblock deps` lists such packages.

    ## Why it blocks the hub

    Compiled code knows nothing of the hub. Most of it works for a moment and returns; code that
    waits for a server, a lock or a device stops every greenlet of the process. Without a
    measurement it is unknown which of the two this is.

    ## Use instead

    Measure the call with `gblock trial`. Record the result in your own catalog (`extend-catalog`):
    a `[[harmless]]` block for the package, or a `[[blocker]]` block for the call.

    ## Limits

    Where the machine code of a package can be read (see `gblock deps --native`), the message names
    the functions that a call waits in; this is no measurement, and its absence proves nothing.
    Otherwise every call into the package is reported, even if it ends in Python code. Results of
    the package's functions have no known type, so calls on them are not reported. Calls from other
    packages are not examined.
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
        """Return the second half of the message: what the machine code shows of the call."""
        blocker = found.blocker
        if not blocker.symbols[0].endswith(".**"):
            return f"goes into {blocker.distribution}: {blocker.why}; measure with `gblock trial`"
        package = blocker.distribution
        return f"goes into {package}, compiled code without a measurement: run `gblock trial`"

    def is_meant(self, found: Found) -> bool:
        """Return whether a call may wait; the constructor of an exception does not."""
        name = found.symbol.rpartition(".")[2]
        return not name.endswith(("Error", "Exception", "Warning"))
