"""Shell scripts: their simple commands, with known variables expanded."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gblock.project.processes.deployment.known_programs import may_run_python
from gblock.project.processes.deployment.shell_functions import Function, closing, functions

_NAME = re.compile(r"[A-Za-z_]\w*")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([\w.-]+)\2")
_REDIRECTED = re.compile(r"[0-9]*(?:&>>?|>>|>&|<&|>\||<>|>|<)")
_REDIRECTING = frozenset("<>&0123456789")
"""Operators that start a redirection."""
_PLAIN = re.compile(r"""[^ \t\n;&|()<>\\'"`$]+""")
"""Characters that need no quoting."""
_WORD = re.compile(r"""[^ \t\n;&|()<>\\'"`$]+(?=[ \t\n;&|()<>]|\Z)""")
"""A whole word of such characters."""
_FACTORY = re.compile(
    r"""(?<![\w.:'"])([A-Za-z_][\w.]*:[A-Za-z_]\w*)\(([\w=,.]*)\)(?=[ \t\n"']|\Z)(?![ \t\n]*\{)"""
)
"""An application's factory: many files that hold commands go to no shell and need no quotes."""
_QUOTED = re.compile(r"""[^"\\$]+""")
"""Characters that need no quoting between double quotes."""
_WHOLE_ARRAY = re.compile(r'"\$\{\w+\[[@*]\]\}"')
"""``"${NAME[@]}"``, which expands to one word for each element."""
_SUBSTITUTION = re.compile(r"`([^`]*)`|\$\((?!\()")
"""A command substitution, or its beginning."""
_LOOKED_UP = re.compile(r"(?:which|command[ \t]+-v|type[ \t]+-[pP])[ \t]+([\w./-]+)")
_ECHOED = re.compile(r"(?:echo(?:[ \t]+-[neE]+)?|printf(?:[ \t]+--)?)[ \t]+([^|;&<>`\n]*)")
"""A command whose arguments are its output."""
_SOURCING = frozenset((".", "source"))
_CUT = re.compile(r"(##?|%%?)(.+)", re.DOTALL)
"""``${NAME%pattern}`` and its kin, after the name."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
"""The escapes of ``$'…'`` that separate commands and words."""
_ESCAPED = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
"""The quoted part of ``$'…'``."""
_BELOW_VARIABLE = re.compile(r"\$(?:\w+|\{\w+\}|\(\))((?:/(?!\.\.?(?:/|\Z))[\w.-]+)+)/?")
_KEYWORDS = frozenset("if then else elif fi while until do done { } ! time coproc function".split())
_NO_PROGRAM = ("$", "-", "/dev/")
"""The beginnings of words that are no program: a loop has collected them, one for each argument."""
_LISTS = frozenset(("for", "select", "case", "esac"))
_SETTING = frozenset(("export", "local", "declare", "typeset", "readonly"))
_END = frozenset(";&|\n()")
_ARGUMENTS = "\0@"
_COMMANDS_LIMIT = 5000
"""The limit of commands that are read from one script."""
_WORK_LIMIT = 10_000
"""The limit of commands that are read of one script, with each call of a function anew."""
_DEEP = 20
_ALTERNATIVES_LIMIT = 6
"""At most this many variables have alternatives, and each at most this many."""
_LONGEST = 20_000
"""Characters: a longer expansion is no command."""


class Simple(NamedTuple):
    """One simple command."""

    words: tuple[str, ...]
    row: int
    environment: tuple[tuple[str, str], ...]
    """Variables that are exported before it, or set in front of it."""
    directory: str = ""
    """The directory after a ``cd`` before it."""
    in_function: bool = False
    """True if it belongs to the call of a function."""


class UnclosedQuoteError(Exception):
    """A quote that is not closed.

    Args:
        row: The row of the opening quote.
    """

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class Script:
    """One script, read from top to bottom as if every branch were executed.

    Args:
        text: The script.
        environment: Variables that are set outside.
        arguments: The values of ``$1`` and the others; None if unknown.
        source: Returns the text of another script by its path; None if it is not known.
    """

    def __init__(
        self,
        text: str,
        environment: Mapping[str, str] | None = None,
        arguments: tuple[str, ...] | None = None,
        source: Callable[[str], str | None] | None = None,
    ) -> None:
        text = text.replace("\r\n", "\n")
        self.text = _FACTORY.sub(r"\1\(\2\)", text) if ":" in text and "(" in text else text
        self.given = dict(environment or {})
        self.variables = dict(self.given)
        self.exported = set(self.given)
        self.arguments = self._given_arguments = arguments
        self.source = source
        self._own = functions(self.text)
        """The functions that the script itself defines, in which some of its rows are."""
        self.functions = self._own
        self._called: set[str] = set()
        """The functions that the script calls."""
        self._depth = 0
        """The nesting depth of function calls and of sourced scripts."""
        self.directory = ""
        self.broken: int | None = None
        """The row of an unclosed quote, if the text after it, which is not read, may start a
        server."""
        self._branches = 0
        """The nesting depth of conditions."""
        self._alternatives: dict[str, list[str]] = {}
        """The values that branches give variables."""
        self._forced: dict[str, str] = {}
        """The value that a variable is to have of its alternatives."""
        self._running: tuple[str, ...] = ()
        """The functions whose bodies are being read, outermost first."""
        self._work = [0]
        """The number of commands read, shared with what the script runs."""

    def commands(self) -> list[Simple]:
        """Return every simple command.

        Where the branches of a condition set one variable to several values, what uses it is read
        with each of them.
        """
        found = self._read()
        found += self._substituted()
        variables, exported, broken = self.variables, self.exported, self.broken
        seen = {(one.words, one.row) for one in found}
        for name, values in [*self._alternatives.items()][:_ALTERNATIVES_LIMIT]:
            for value in list(dict.fromkeys(values))[:-1][-_ALTERNATIVES_LIMIT:]:
                self._forget()
                self._forced = {name: value}
                for one in self._read():
                    if (one.words, one.row) not in seen:
                        seen.add((one.words, one.row))
                        found.append(one)
        self._forced = {}
        self.variables, self.exported, self.broken = variables, exported, broken
        return list(dict.fromkeys(found))

    def _substituted(self) -> list[Simple]:
        """Return the commands inside command substitutions."""
        found: list[Simple] = []
        for match in _SUBSTITUTION.finditer(self.text):
            begin = self.text.rfind("\n", 0, match.start()) + 1
            if "#" in self.text[begin : match.start()] or _LOOKED_UP.search(match[0]):
                continue
            inner = match[1]
            if inner is None:
                end = closing(self.text, match.end() - 1, "(", ")")
                inner = self.text[match.end() : end]
            row = self.text.count("\n", 0, match.start())
            script = Script(inner, self.variables, self.arguments)
            found += [
                one._replace(row=one.row + row) for one in script._read()[:_ALTERNATIVES_LIMIT]
            ]
        return found

    def _forget(self) -> None:
        """Discard the results, for another pass."""
        self.variables = dict(self.given)
        self.exported = set(self.given)
        self.arguments = self._given_arguments
        self.directory, self._branches, self.broken = "", 0, None

    def _read(self) -> list[Simple]:
        found: list[Simple] = []
        try:
            for simple in self._simple():
                if simple.words[0] == "eval" and self._depth < _DEEP:
                    found += self._evaluated(simple)
                    continue
                found.append(simple)
                self._work[0] += 1
                name = simple.words[0]
                function = self.functions.get(name) if name not in self._running else None
                if function is not None and self._depth < _DEEP:
                    if function is not self._own.get(name) or simple.row != function.head:
                        found += self._run(simple, function)
                if len(found) >= _COMMANDS_LIMIT or self._work[0] >= _WORK_LIMIT:
                    break
        except UnclosedQuoteError as error:
            unread = self.text.split("\n", error.row - 1)[-1]
            self.broken = error.row if may_run_python(unread) else None
        bodies = [self._own[name] for name in self._called if name in self._own]
        return [
            one
            for one in found
            if one.in_function or not any(body.first <= one.row <= body.last for body in bodies)
        ]

    def _evaluated(self, call: Simple) -> list[Simple]:
        """Return the commands of the text that ``eval`` is given."""
        inner = Script(" ".join(call.words[1:]), self.variables, self.arguments, self.source)
        inner.functions = {**inner.functions, **self.functions}
        inner.exported, inner.directory = set(self.exported), self.directory
        self._enter(inner)
        found = inner._read()
        self.variables.update(inner.variables)
        return [one._replace(row=call.row) for one in found]

    def _enter(self, inner: Script, *function: str) -> None:
        """Count what another script reads as this one's work, at one more level of nesting."""
        inner._depth, inner._work = self._depth + 1, self._work
        inner._running = (*self._running, *function)

    def _run(self, call: Simple, function: Function) -> list[Simple]:
        """Return the commands of a function that is called with these arguments."""
        name, *arguments = call.words
        inner = Script(function.body, self.variables, tuple(arguments), self.source)
        inner.functions = self.functions
        inner.exported, inner.directory = set(self.exported), self.directory
        self._enter(inner, name)
        found = inner._read()
        if not found:
            return []
        self._called.add(name)
        if function is not self._own.get(name):  # its rows are those of another script
            return [one._replace(row=call.row, in_function=True) for one in found]
        return [one._replace(row=one.row + function.first - 1, in_function=True) for one in found]

    def _include(self, path: str) -> None:
        """Take over the variables and functions of a script that this one sources."""
        text = self.source(path) if self.source is not None and self._depth < _DEEP else None
        if text is None:
            return
        inner = Script(text, self.variables, self.arguments, self.source)
        inner.exported = set(self.exported)
        self._enter(inner)
        inner._read()
        self.variables.update(inner.variables)
        self.exported |= inner.exported
        self.functions = {**inner.functions, **self.functions}

    # -- commands

    def _simple(self) -> Iterator[Simple]:
        words: list[str] = []
        first, depth = 0, 0
        array: str | None = None
        added = False
        begun, outer = self.directory, list[str]()
        lexer = _Lexer(self)
        for kind, value, row in lexer.tokens():
            if kind == "word":
                if not words:
                    first = row
                words.append(value)
                continue
            if array is not None:  # NAME=(…)
                if value == ")":
                    before = self.variables.get(array, "") if added else ""
                    self.variables[array] = " ".join([before, *words]).strip()
                    array, words = None, []
                continue
            if value == "(":
                if words and _ASSIGNED.fullmatch(words[-1]) and words[-1].endswith("="):
                    added = words[-1].endswith("+=")
                    array, words = words[-1].rstrip("+="), []
                    continue
                depth += 1
                outer.append(self.directory)
            elif value == ")":
                if depth == 0:
                    self._branches += "case" in words
                    words = []  # the pattern of a case
                depth = max(depth - 1, 0)
            simple = self._ended(words, first)
            if simple is not None:
                yield simple
            words = []
            # A subshell's ``cd`` ends with it: ``( … )``, and a list in the background by ``&``.
            if value == ")" and outer:
                self.directory = outer.pop()
            elif lexer.is_aside(value):
                self.directory = begun
            if value in ";\n" or lexer.is_aside(value):
                begun = self.directory
        simple = self._ended(words, first)
        if simple is not None:
            yield simple

    def _ended(self, words: list[str], row: int) -> Simple | None:
        words = self._with_arguments(words)
        while words and words[0] in _KEYWORDS:
            self._branches += {"if": 1, "fi": -1}.get(words[0], 0)
            words = words[1:]
        if words and words[0] in ("case", "esac"):
            self._branches += 1 if words[0] == "case" else -1
        if not words or words[0] in _LISTS or "]]" in words:
            return None
        own: dict[str, str] = {}
        while words:
            match = _ASSIGNED.fullmatch(words[0])
            if match is None:
                break
            own[match[1]] = (self.variables.get(match[1], "") if match[2] else "") + match[3]
            if match[2] and not words[1:]:  # what a branch adds is no alternative to the rest
                self.variables[match[1]] = own.pop(match[1])[:_LONGEST]
            words = words[1:]
        if not words:
            self._assign(own)
            return None
        if words[0] in _SETTING:
            self._declare(words)
            return None
        if words[0] == ":":  # : ${NAME:=default}
            return None
        if words[0] in ("cd", "pushd") and len(words) > 1:
            self._go(words[1])
        elif words[0] in _SOURCING and len(words) > 1:
            self._include(words[1])
        elif words[0] == "set" and "--" in words:
            given = tuple(words[words.index("--") + 1 :])
            if self.arguments is None or not given or not given[0].startswith(_NO_PROGRAM):
                self.arguments = given
        elif words[0] == "shift" and self.arguments is not None:
            count = int(words[1]) if words[1:] and words[1].isdigit() else 1
            self.arguments = self.arguments[count:]
        known = {
            name: self.variables[name] for name in sorted(self.exported) if name in self.variables
        }
        environment = tuple(sorted({**known, **own}.items()))
        return Simple(tuple(words), row, environment, self.directory)

    def _go(self, where: str) -> None:
        """Follow a ``cd``; a target that is only known at run time becomes unknown.

        Below a variable it is a directory somewhere on another machine: ``cd "$ROOT/web"``.
        """
        below = _BELOW_VARIABLE.fullmatch(where)
        if below is not None:
            self.directory = below[1]
        elif "$" in where or where in ("-", ".."):
            self.directory = ""
        else:
            self.directory = os.path.join(self.directory, where)

    def _assign(self, own: dict[str, str]) -> None:
        for name, value in own.items():
            if self._branches > 0:
                if "$" in value and "$" not in self.variables.get(name, "$"):
                    continue  # an option that is not known keeps its default
                if name in self._forced and value != self._forced[name]:
                    continue
                if not self._forced:
                    self._alternatives.setdefault(name, []).append(value)
            if name not in self.given or value.strip("$") not in ("", name):
                self.variables[name] = value[:_LONGEST]

    def _declare(self, words: list[str]) -> None:
        for word in words[1:]:
            match = _ASSIGNED.fullmatch(word)
            if match is not None:
                self._assign({match[1]: match[3]})
            name = match[1] if match is not None else word
            if words[0] == "export":
                self.exported.add(name)

    def _with_arguments(self, words: list[str]) -> list[str]:
        found: list[str] = []
        for word in words:
            if word != _ARGUMENTS:
                found.append(word.replace(_ARGUMENTS, "$@"))
            elif self.arguments is None:
                found.append("$@")
            else:
                found.extend(self.arguments)
        return found

    # -- variables

    def value(self, name: str) -> str | None:
        """Return the value of a variable, None if unknown."""
        if name in ("@", "*"):
            return _ARGUMENTS
        if name.isdigit():
            if self.arguments is None:
                return None
            return self.arguments[int(name) - 1] if 0 < int(name) <= len(self.arguments) else ""
        return self.variables.get(name)

    def braced(self, inner: str, depth: int) -> str:
        """Return the value of ``${…}``."""
        match = re.match(r"[@*]|\d+|[A-Za-z_]\w*", inner)
        if match is None:
            return "$"
        name, rest = match[0], inner[match.end() :]
        rest = re.sub(r"^\[[@*\d]+\]", "", rest)
        known = self.value(name)
        operator = re.match(r":?[-=?+]", rest)
        if operator is None:
            cut = _CUT.fullmatch(rest)
            if cut is not None and known is not None and known != _ARGUMENTS:
                return _without(known, cut[1], self.expanded(cut[2], depth).strip("'\""))
            return known if known is not None and not rest else f"${name}"
        word = rest[operator.end() :]
        if operator[0][-1] == "+":
            return self.expanded(word, depth) if known else ""
        if (known and known != _ARGUMENTS) or (known == "" and operator[0][0] != ":"):
            return known
        if operator[0][-1] == "?":
            return f"${name}"
        default = self.expanded(word, depth).strip("'\"")
        if operator[0][-1] == "=":
            self.variables[name] = default
        if name in ("@", "*"):
            return default if self.arguments is None else _ARGUMENTS
        return default

    def expanded(self, text: str, depth: int = 0) -> str:
        """Return a text with its variables expanded."""
        if depth > _DEEP or "$" not in text:
            return text
        parts: list[str] = []
        place = 0
        while place < len(text):
            if text[place] == "$":
                value, place = self.variable(text, place, depth + 1)
                parts.append(value)
            else:
                parts.append(text[place])
                place += 1
        return "".join(parts)[:_LONGEST]

    def substituted(self, command: str) -> str:
        """Return the value of ``$(command)``: of ``which`` and ``echo``, else an unknown text."""
        match = _LOOKED_UP.fullmatch(command.strip())
        if match is not None:
            return match[1]
        match = _ECHOED.fullmatch(command.strip())
        if match is not None:
            return self.expanded(match[1].strip().strip("\"'"))
        return self._printed(command) if self._depth < _DEEP else "$()"

    def _printed(self, command: str) -> str:
        """Return what a function of the script prints with ``echo``, else an unknown text."""
        call = Script(command, self.variables, self.arguments)
        called = next(iter(call._read()), None)
        function = self.functions.get(called.words[0]) if called is not None else None
        if called is None or function is None or called.words[0] in self._running:
            return "$()"
        inner = Script(function.body, self.variables, called.words[1:], self.source)
        inner.functions = self.functions
        self._enter(inner, called.words[0])
        lines = [" ".join(one.words[1:]) for one in inner._read() if one.words[0] == "echo"]
        return "\n".join(lines) if lines else "$()"

    def variable(self, text: str, place: int, depth: int = 0) -> tuple[str, int]:
        """Return the value of the ``$`` at a place, and the end of the expression."""
        following = text[place + 1 : place + 2]
        if following == "{":
            end = closing(text, place + 1, "{", "}")
            inner, following = text[place + 2 : end], text[end + 1 : end + 2]
            value = self.braced(inner, depth)
            if value == f"${inner}" and (following.isalnum() or following == "_"):
                value = f"${{{inner}}}"
            return value, end + 1
        if following == "(":
            end = closing(text, place + 1, "(", ")")
            return self.substituted(text[place + 2 : end]), end + 1
        if following and following in "@*":
            return _ARGUMENTS, place + 2
        if following.isdigit():
            known = self.value(following)
            return (f"${following}" if known is None else known), place + 2
        match = _NAME.match(text, place + 1)
        if match is None:
            return "$", place + 1
        known = self.value(match[0])
        return (f"${match[0]}" if known is None else known), match.end()


def _without(value: str, operator: str, pattern: str) -> str:
    """Return a value without what a pattern matches at its beginning (``#``) or its end (``%``)."""
    matches = re.compile(fnmatch.translate(pattern), re.DOTALL).match
    pieces = (
        [(value[:place], value[place:]) for place in range(len(value) + 1)]
        if operator[0] == "#"
        else [(value[place:], value[:place]) for place in range(len(value), -1, -1)]
    )
    if len(operator) == 2:
        pieces.reverse()
    return next((rest for piece, rest in pieces if matches(piece)), value)


class _Lexer:
    """Splits a script into words and operators, lazily: a word's variables are set before it."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.text = script.text
        self.place = 0
        self.row = 1
        self.heredocs: list[tuple[str, bool]] = []
        self.parts: list[str] = []
        self.quoted = False
        self.pending: list[str] = []

    def is_aside(self, operator: str) -> bool:
        """Return whether the operator just read is a single ``&``."""
        around = self.text[max(self.place - 2, 0) : self.place + 1]
        return operator == "&" and "&&" not in around

    def tokens(self) -> Iterator[tuple[str, str, int]]:
        text = self.text
        skip_next = False
        while self.place < len(text):
            letter = text[self.place]
            if letter == "\\" and text[self.place + 1 : self.place + 2] == "\n":
                self.place += 2
                self.row += 1
                continue
            if letter in " \t":
                self.place += 1
                continue
            if letter == "#":
                end = text.find("\n", self.place)
                self.place = len(text) if end < 0 else end
                continue
            heredoc = _HEREDOC.match(text, self.place) if letter == "<" else None
            if heredoc is not None and not text.startswith("<<<", self.place):
                self.heredocs.append((heredoc[3], bool(heredoc[1])))
                self.place = heredoc.end()
                continue
            redirected = _REDIRECTED.match(text, self.place) if letter in _REDIRECTING else None
            if redirected is not None:
                self.place = redirected.end()
                skip_next = True
                continue
            if letter in _END:
                row = self.row
                self.place += 1
                if letter == "\n":
                    self.row += 1
                    self._skip_heredocs()
                skip_next = False
                yield "end", letter, row
                continue
            row = self.row
            plain = _WORD.match(text, self.place)
            if plain is not None:  # most words: nothing in them is quoted or a variable
                self.place = plain.end()
                if skip_next:
                    skip_next = False
                else:
                    yield "word", plain[0], row
                continue
            for word in self._word():
                if skip_next:
                    skip_next = False
                else:
                    yield "word", word, row

    def _skip_heredocs(self) -> None:
        for delimiter, indented in self.heredocs:
            while self.place < len(self.text):
                end = self.text.find("\n", self.place)
                end = len(self.text) if end < 0 else end
                line = self.text[self.place : end]
                self.place = min(end + 1, len(self.text))
                self.row += 1
                if (line.lstrip("\t") if indented else line) == delimiter:
                    break
        self.heredocs.clear()

    def _word(self) -> list[str]:
        """Return one word as written; several or none if a variable holds several or none."""
        text = self.text
        self.parts, self.pending, self.quoted = [], [], False
        while self.place < len(text):
            plain = _PLAIN.match(text, self.place)
            if plain is not None:
                self.parts.append(plain[0])
                self.place = plain.end()
                continue
            letter = text[self.place]
            if letter in " \t" or letter in _END or letter in "<>":
                break
            if letter == "\\":
                if text[self.place + 1 : self.place + 2] == "\n":
                    self.row += 1
                else:
                    self.parts.append(text[self.place + 1 : self.place + 2])
                self.place += 2
            elif letter == "'":
                self._single()
            elif letter == '"' and (array := _WHOLE_ARRAY.match(text, self.place)) is not None:
                self.place += 1
                self._unquoted_variable()
                self.place = array.end()
            elif letter == '"':
                self._double()
            elif letter == "`":
                self._backquoted()
            elif letter == "$" and text[self.place + 1 : self.place + 2] == "'":
                self.place += 1
                self._single(escaped=True)
            else:
                self._unquoted_variable()
        last = "".join(self.parts)
        return [*self.pending, last] if last or self.quoted else self.pending

    def _single(self, *, escaped: bool = False) -> None:
        if escaped:
            quoted = _ESCAPED.match(self.text, self.place)
            end = quoted.end() - 1 if quoted is not None else -1
        else:
            end = self.text.find("'", self.place + 1)
        if end < 0:
            raise UnclosedQuoteError(self.row)
        inner = self.text[self.place + 1 : end]
        self.row += inner.count("\n")
        if escaped:
            inner = re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[0]), inner)
        self.parts.append(inner)
        self.place, self.quoted = end + 1, True

    def _double(self) -> None:
        opened, text = self.row, self.text
        self.place += 1
        self.quoted = True
        while self.place < len(text):
            quoted = _QUOTED.match(text, self.place)
            if quoted is not None:
                self.row += quoted[0].count("\n")
                self.parts.append(quoted[0])
                self.place = quoted.end()
                continue
            letter = text[self.place]
            if letter == '"':
                self.place += 1
                return
            if letter == "\\" and text[self.place + 1 : self.place + 2] in ('"', "\\", "$", "`"):
                self.parts.append(text[self.place + 1])
                self.place += 2
            elif letter == "\\" and text[self.place + 1 : self.place + 2] == "\n":
                self.place += 2
                self.row += 1
            elif letter == "$":
                before = self.place
                value, self.place = self.script.variable(text, self.place)
                self.row += text.count("\n", before, self.place)
                self.parts.append(value)
            else:  # a literal backslash
                self.parts.append(letter)
                self.place += 1
        raise UnclosedQuoteError(opened)

    def _backquoted(self) -> None:
        end = self.text.find("`", self.place + 1)
        if end < 0:
            raise UnclosedQuoteError(self.row)
        self.row += self.text.count("\n", self.place, end)
        self.parts.append(self.script.substituted(self.text[self.place + 1 : end]))
        self.place = end + 1

    def _unquoted_variable(self) -> None:
        before = self.place
        value, self.place = self.script.variable(self.text, self.place)
        self.row += self.text.count("\n", before, self.place)
        assigned = "".join(self.parts)
        if not any(letter.isspace() for letter in value) or _ASSIGNED.match(assigned):
            self.parts.append(value)
            self.quoted = self.quoted or bool(value)
            return
        pieces = value.split()
        if not pieces:
            return
        self.parts.append(pieces[0])
        for piece in pieces[1:]:
            self.pending.append("".join(self.parts))
            self.parts = [piece]
