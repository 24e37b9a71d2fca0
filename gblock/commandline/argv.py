"""The arguments become options: the short way, on which most runs never need argparse."""

from __future__ import annotations

from gblock.commandline.options import Options

_SWITCHES = {"--force-exclude": "force_exclude", "--quiet": "quiet", "-q": "quiet"}


def parse(argv: list[str]) -> Options:
    """Return the options of one command, its name among them.

    Raises:
        UserError: where the arguments make no sense.
        SystemExit: after ``--help`` or ``--version``, whose text has been printed.
    """
    # pre-commit names files and hardly an option. That needs no argparse, whose import and whose
    # parser cost more than looking at a clean file.
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
