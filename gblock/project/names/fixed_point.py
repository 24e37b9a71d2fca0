"""The least fixed point of questions about values that lead back to themselves, memoised.

Each question is a key and a function that answers it, which may ask further questions. Questions
that lead back to one another form a strongly connected component. Its answers are found by
iteration from below: an open question answers with what is found so far, and when the component's
first question has an answer, those questions are answered again that were given an answer which
has changed, inner ones first, until none has. All answers of the component are then known.

Most questions find more when they are given more, but some look further only where nothing is
known. A component then has several fixed points, and the first question decides between them. The
answers must not depend on the order of questions, so that a component is answered a second time,
from the first question by the order of their keys. Services have components of up to some thousand
questions; those of a tree of many packages can have more than 100,000, and are answered once.

An answer is a set of values, which is widened when it grows, or a tuple of places of any size.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Hashable, Iterator
from typing import Any, TypeVar

from gblock.project.names import values as v
from gblock.project.names.values import NOTHING

_LONGEST_CHAIN = 400
"""The number of questions in a row, if Python's stack allows; the first one answers the others."""
_FRAMES = 16
"""The number of nested Python calls for one question."""
_WIDEST = 12
"""An answer about more things than this is widened to nothing: a wide set is a guess."""
_LONGEST = 200
"""An answer of more values than this is widened to nothing, too."""
_MOST_LOSSES = 16
"""The number of times that an answer may lose a value; negations may keep one from settling."""
_MOST_RESTARTS = 4
"""The number of nested restarts of components that differ from those that were found before."""
_LARGEST = 20_000
"""A component of more questions than this is answered once: a second time would take minutes."""
_NEVER = 1 << 30

_NO_ASKERS: Collection[_Question] = ()

Answer = TypeVar("Answer", bound="Collection[Any]")
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class _Question:
    """A question that is being answered, or whose answer is not final yet."""

    __slots__ = (
        "askers",
        "found",
        "head",
        "index",
        "is_stale",
        "is_wide",
        "key",
        "losses",
        "position",
        "solve",
    )

    def __init__(self, key: Hashable, solve: Callable[[], Any], position: int) -> None:
        self.key = key
        self.solve = solve
        self.position = position
        """The position in the chain of questions; negative while it is not being answered."""
        self.index = -1
        """The position in the trail; negative until it is answered for the first time."""
        self.head: _Question | None = None
        """A question nearer to the start of the chain that this one depends on; None while it is
        being answered. Questions must not refer to themselves: during a check nothing looks for
        such garbage."""
        self.found: Any = NOTHING  # empty, whatever the answer's type
        self.askers = _NO_ASKERS
        """The questions that were given what was found so far, in their order; most have none."""
        self.is_stale = False
        """An answer that it was given has changed since."""
        self.is_wide = False
        """The answer was too wide once; it stays unknown then."""
        self.losses = 0
        """The number of times that the answer lost a value."""

    def keep(self, bounded: Any, *, is_wide: bool) -> bool:
        """Keep an answer, and return whether it differs from the one before.

        Args:
            bounded: The answer, widened if it is too wide.
            is_wide: True if it is.
        """
        if self.is_wide:
            return False
        self.is_wide = is_wide
        if bounded == self.found or not (bounded or self.found):
            self.found = bounded
            return False
        if not self.is_wide and not set(self.found) <= set(bounded):
            self.losses += 1
            if self.losses > _MOST_LOSSES:
                return False
        self.found = bounded
        return True

    def first(self) -> _Question:
        """Return the question that is being answered which this one leads back to."""
        passed, head = [], self
        while head.position < 0 and head.head is not None:
            passed.append(head)
            head = head.head
        for other in passed:
            other.head = head
        return head


class FixedPoint:
    """Answers questions and keeps the answers.

    Args:
        breadth: Returns how many things some values are about, at most as many as the values.
    """

    def __init__(self, breadth: Callable[[Any], int] = len) -> None:
        self._breadth = breadth
        self._known: dict[Hashable, Any] = {}
        """Answers that are final, and the other questions: a key is a deep tuple, whose hash takes
        long."""
        self.answered: Callable[[Hashable], Any] = self._known.get
        """Returns the final answer to a question; something else if there is none yet."""
        self._answers: dict[Any, Any] = {}
        """Each of the final answers once."""
        self._cut: dict[Any, Any] = {}
        """Answers, with their containers cut where they nest too deep: looked at once each."""
        self._chain: list[_Question] = []
        """The questions that are being answered, each asked by the one before it."""
        self._trail: list[_Question] = []
        """Answered questions of components that are still open, in the order of their answers."""
        self._waiting: list[int] = []
        """The positions of those of them that are stale, in order."""
        self._outermost = _NEVER
        """The position of the outermost question that the current one leads back to."""
        self._restarts = 0
        """The number of components that are answered from their first question at the moment."""
        self._longest_chain = min(_LONGEST_CHAIN, sys.getrecursionlimit() // _FRAMES)

    def solved(self, key: Hashable, solve: Callable[[], Answer]) -> Answer:
        """Return the answer to a question.

        Args:
            key: The question.
            solve: Computes the answer; what it asks in turn must be asked here, too.
        """
        found: Any = self._known.get(key)
        if found is None:
            found = self._solved(key, solve)
        elif type(found) is _Question:
            found = self._given(found, found.first().position)
        answer: Answer = found
        return answer

    def is_final(self, key: Hashable) -> bool:
        """Return whether the answer to a question can no longer change."""
        found = self._known.get(key)
        return found is not None and type(found) is not _Question

    def remembered(self, table: dict[Key, Result], key: Key, find: Callable[[], Result]) -> Result:
        """Return what a table has under a key; if nothing, find it, and keep it if it is final.

        It is final if all answers that it follows from are. Unlike `solved`, what is found is no
        question of its own: answers are the same as if it were always found again.

        Args:
            table: What is known so far.
            key: The key.
            find: Finds it; not `None`.
        """
        found = table.get(key)
        if found is None:
            outer, self._outermost = self._outermost, _NEVER
            try:
                found = find()
                if self._outermost == _NEVER:
                    table[key] = found
            finally:
                self._outermost = min(outer, self._outermost)
        return found

    def _solved(self, key: Hashable, solve: Callable[[], Any]) -> Any:
        """Return the answer to a new question."""
        depth = len(self._chain)
        if depth > self._longest_chain:
            question = self._known[key] = _Question(key, solve, -1)
            question.head = self._chain[0]
            question.is_stale = True
            self._leave(question)
            return self._given(question, 0)
        outer, self._outermost = self._outermost, _NEVER
        start = len(self._trail)
        question = self._known[key] = _Question(key, solve, depth)
        self._chain.append(question)
        try:
            found = solve()
            if self._outermost <= depth:
                self._keep(question, found)
                self._settle(question, start)
                found = question.found
        except BaseException:
            dropped = [*self._trail[start:], question]
            self._drop(dropped)
            for one in dropped:
                del self._known[one.key]
            self._outermost = outer
            raise
        finally:
            self._chain.pop()
        outermost, self._outermost = self._outermost, outer
        if outermost < depth:
            question.position = -1
            question.head = self._chain[outermost]
            self._leave(question)
            return self._given(question, outermost)
        if len(self._trail) == start:  # no other question led back to it, as to most
            question.askers = _NO_ASKERS
            found = self._known[key] = self._shared(self._bounded(found))
            return found
        members = [*self._trail[start:], question]
        firsts = [question]
        if self._restarts < _MOST_RESTARTS and len(members) <= _LARGEST:
            firsts = [_first(component) for component in _components(members)]
        self._drop(members)
        if firsts != [question]:
            return self._from_firsts(members, firsts)
        for member in members:
            self._known[member.key] = self._shared(member.found)
        return question.found

    def _from_firsts(self, members: list[_Question], firsts: list[_Question]) -> Any:
        """Return the answer to the last of some questions, all of which are answered again.

        Args:
            members: The questions, which are closed.
            firsts: Those of them that are answered first.
        """
        for member in members:
            del self._known[member.key]
        self._restarts += 1
        try:
            for one in (*firsts, members[-1]):
                found = self.solved(one.key, one.solve)
        finally:
            self._restarts -= 1
        return found

    def _bounded(self, found: Any) -> Any:
        """Return an answer, widened to nothing if it is too wide."""
        if not found or isinstance(found, tuple):
            return found
        if len(found) > _WIDEST:
            if len(found) > _LONGEST or self._breadth(found) > _WIDEST:
                return NOTHING
        bounded = found
        if v.may_nest(found):
            bounded = self._cut.get(found)
            if bounded is None:
                bounded = self._cut[found] = v.bounded(found)
        if len(bounded) < 2:
            return bounded
        return self._answers.get(bounded) or v.ordered(bounded)

    def _shared(self, found: Any) -> Any:
        """Return an equal answer that is kept already, if there is one: most answers are alike."""
        return self._answers.setdefault(found, found)

    def _leave(self, question: _Question) -> None:
        """Leave a question for the first one of its component to settle."""
        question.index = len(self._trail)
        self._trail.append(question)
        if question.is_stale:
            self._waiting.append(question.index)

    def _given(self, question: _Question, outermost: int) -> Any:
        """Return the answer found so far, and keep who asked for it."""
        if outermost < self._outermost:
            self._outermost = outermost
        if isinstance(question.askers, dict):
            question.askers[self._chain[-1]] = None
        else:
            question.askers = {self._chain[-1]: None}
        return question.found

    def _settle(self, question: _Question, start: int) -> None:
        """Answer the questions of a component again until each follows from those it was given.

        One of them may then lead further out: this component becomes a part of that one.

        Args:
            question: The first one of the component.
            start: The position in the trail where the others start.
        """
        depth = question.position
        following = start
        while self._outermost == depth:
            next_one = bisect_left(self._waiting, following)
            if next_one < len(self._waiting):
                following = self._waiting.pop(next_one)
                self._answer_again(self._trail[following])
            elif question.is_stale:
                question.is_stale = False
                self._keep(question, question.solve())
                following = start
            elif following > start:
                following = start
            else:
                break

    def _answer_again(self, question: _Question) -> None:
        question.is_stale = False
        question.position = len(self._chain)
        self._chain.append(question)
        try:
            self._keep(question, question.solve())
        finally:
            self._chain.pop()
            question.position = -1

    def _keep(self, question: _Question, found: Any) -> None:
        """Keep an answer; if it has changed, the questions that were given it become stale."""
        bounded = self._bounded(found)
        if not question.keep(bounded, is_wide=bool(found and not bounded)):
            return
        for asker in question.askers:
            if not asker.is_stale:
                asker.is_stale = True
                if asker.index >= 0:
                    insort(self._waiting, asker.index)

    def _drop(self, questions: list[_Question]) -> None:
        """Remove the last questions of the trail and the one that is being answered."""
        start = len(self._trail) - len(questions) + 1
        del self._trail[start:]
        del self._waiting[bisect_left(self._waiting, start) :]
        for question in questions:
            question.index = -1
            question.head = None
            question.askers = _NO_ASKERS  # they refer to one another


def _components(questions: list[_Question]) -> Iterator[list[_Question]]:
    """Yield the strongly connected components of some questions, those that others ask first.

    Kosaraju's algorithm (M. Sharir, 1981), with explicit stacks.
    """
    asked: dict[_Question, list[_Question]] = {one: [] for one in questions}
    for one in questions:
        for asker in one.askers:
            if asker in asked:
                asked[asker].append(one)
    finished: list[_Question] = []
    left = set(questions)
    for root in questions:
        stack = [(root, iter(root.askers))] if root in left else []
        left.discard(root)
        while stack:
            one, askers = stack[-1]
            following = next((asker for asker in askers if asker in left), None)
            if following is None:
                finished.append(one)
                stack.pop()
            else:
                left.remove(following)
                stack.append((following, iter(following.askers)))
    left.update(questions)
    for root in reversed(finished):
        component = [root] if root in left else []
        left.discard(root)
        for one in component:
            component += (inner := [other for other in asked[one] if other in left])
            left.difference_update(inner)
        if component:
            yield component


def _first(questions: list[_Question]) -> _Question:
    """Return the first of some questions by the order of their keys."""
    kinds = [_kind(one.key) for one in questions]
    first = min(kinds)
    among = [one for one, kind in zip(questions, kinds, strict=True) if kind == first]
    return min(among, key=lambda one: v.spelled(one.key))


def _kind(key: Hashable) -> tuple[bool, str]:
    """Return a part of a key that is quickly compared: the words of questions, then the others."""
    word = key[0] if isinstance(key, tuple) and key else None
    return (False, word) if isinstance(word, str) else (True, "")
