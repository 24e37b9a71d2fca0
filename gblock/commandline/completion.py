"""Completions of commands, options and rules for shells."""

from __future__ import annotations

from gblock import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHELLS = ("bash", "zsh", "fish")
_GROUPS = ("default", "all")
_TAKE_NAMES = ("--select", "--extend-select", "--ignore", "--extend-ignore")

Choices = dict[str, dict[str, tuple[str, ...]]]
"""By command and option the values that the option takes, none where these are files."""


def script(shell: str, choices: Choices, descriptions: Mapping[str, str]) -> str:
    """Return the completion script of a shell.

    Args:
        shell: One of `SHELLS`.
        choices: The options of each command, with their values.
        descriptions: The description of each command.
    """
    for options in choices.values():
        for option in options.keys() & {*_TAKE_NAMES}:
            options[option] = (*_GROUPS, *rules.NAMES)
    named = {"explain": rules.NAMES, "completion": SHELLS, "help": tuple(choices)}
    if shell == "fish":
        return _fish(choices, descriptions, named)
    text = _bash(choices, named)
    if shell == "zsh":
        return f"#compdef gblock\nautoload -U +X bashcompinit && bashcompinit\n{text}"
    return text


def _bash(choices: Choices, named: Mapping[str, Sequence[str]]) -> str:
    lines = [
        "_gblock() {",
        '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        "  local words=",
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f'    words="{" ".join(choices)} --help --version"',
        "  else",
        '    case "${COMP_WORDS[1]} $before" in',
    ]
    for command, options in choices.items():
        for option, values in options.items():
            if values:
                lines.append(f'      "{command} {option}") words="{" ".join(values)}" ;;')
    lines += ["    esac", '    if [ -z "$words" ]; then', '      case "${COMP_WORDS[1]}" in']
    for command, options in choices.items():
        words = " ".join((*options, *named.get(command, ())))
        lines.append(f'        {command}) words="{words}" ;;')
    lines += [
        "      esac",
        "    fi",
        "  fi",
        '  COMPREPLY=( $(compgen -W "$words" -- "$word") )',
        "}",
        "complete -o default -F _gblock gblock",
    ]
    return "\n".join(lines) + "\n"


def _fish(
    choices: Choices, descriptions: Mapping[str, str], named: Mapping[str, Sequence[str]]
) -> str:
    lines = []
    for command in choices:
        text = descriptions[command].replace("'", "\\'")
        lines.append(f"complete -c gblock -n __fish_use_subcommand -a {command} -d '{text}'")
    for command, options in choices.items():
        condition = f"-n '__fish_seen_subcommand_from {command}'"
        for option, values in options.items():
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            values_ = f" -x -a '{' '.join(values)}'" if values else ""
            lines.append(f"complete -c gblock {condition} {flag}{values_}")
        if command in named:
            lines.append(f"complete -c gblock {condition} -f -a '{' '.join(named[command])}'")
    return "\n".join(lines) + "\n"
