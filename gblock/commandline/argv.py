"""A fast path for simple arguments, which avoids the import of argparse."""

from __future__ import annotations

from gblock.commandline.options import Options

_SWITCHES = {
    "--force-exclude": "force_exclude",
    "--isolated": "isolated",
    "--no-cache": "no_cache",
    "--quiet": "quiet",
    "-q": "quiet",
}


def parse(argv: list[str]) -> Options:
    """Return the options of one command, its name among them.

    Raises:
        UserError: for invalid arguments.
        SystemExit: after ``--help`` or ``--version``, whose text has been printed.
    """
    # pre-commit passes files and few options. argparse's import and parser take longer than the
    # check of a clean file.
    if argv[:1] == ["check"]:
        options = Options("check")
        switches = [argument for argument in argv[1:] if argument.startswith("-")]
        if all(switch in _SWITCHES for switch in switches):
            options.paths = [argument for argument in argv[1:] if not argument.startswith("-")]
            for switch in switches:
                setattr(options, _SWITCHES[switch], True)
            return options
    from gblock.commandline import parser

    return parser.parse(argv)
