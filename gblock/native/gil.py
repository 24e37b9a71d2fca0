"""Find the waits that a method reaches, and whether it holds the GIL there.

Two passes over the call graph: the waits that a function can reach at all (strongly connected
components, Tarjan 1972), and, for functions that change the state of the GIL, the state in which
they reach them. The state is propagated along all paths through a function, feasible or not.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush
from typing import NamedTuple

from gblock.native import waits
from gblock.native.linking import Invocation, LinkedModule, Node, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

HELD, RELEASED, TAKEN = "held", "released", "taken"
"""`TAKEN`: held again inside a part that had released it (`PyGILState_Ensure`)."""
_DEEPEST = 80
_MOST_FUNCTIONS = 25_000
"""The limit of functions that are read for one module and its libraries."""

_MOST_LOOKS = 2_000_000
"""The limit of visits to functions in searches for chains."""
_ONLY, _OWN, _OTHER = 100, 150, 200
"""The costs, in calls, of a call by a Python name in a chain: of the only method with the name, of
one of several that is of the caller's own type, and of another one of several."""


class Reach(NamedTuple):
    """The waits that a function reaches."""

    waits: int
    """Bits of `gblock.native.waits`."""
    changes: bool
    """True if it changes the state of the GIL."""


class Effect(NamedTuple):
    """The effect of a function that was entered in one state of the GIL."""

    leaves: frozenset[str]
    """The states in which it may return."""
    waits: dict[str, int]
    """The waits that it reaches, by state."""
    releases: bool
    """True if it releases the GIL anywhere."""


class _Met(NamedTuple):
    """A call of a function that was entered in one state of the GIL."""

    step: Invocation
    waits: int
    """The waits of what it calls; -1 if that may change the state of the GIL."""
    states: frozenset[str]
    """The possible states at the call."""


_NOTHING, _UNKNOWN = Reach(0, False), Reach(waits.UNKNOWN, False)
_RELEASES = Effect(frozenset({RELEASED}), {}, True)
_STAYS = {state: Effect(frozenset({state}), {}, False) for state in (HELD, RELEASED, TAKEN)}


class Gil:
    """Results for the methods of one program.

    Args:
        program: The module and its libraries.
    """

    def __init__(self, program: LinkedModule) -> None:
        self._program = program
        self._reaches: dict[Node, Reach] = {}
        self._alone: dict[Node, tuple[int, bool, list[Node]]] = {}
        """By function whose component is open: the waits of the imports that it calls, whether one
        of them changes the GIL's state, and the other functions that it calls."""
        self._named: dict[tuple[str, int], Reach] = {}
        self._effects: dict[tuple[Node, str], Effect] = {}
        self._exits: dict[tuple[Node, str], set[str]] = {}
        self._kept: dict[tuple[Node, str], list[_Met]] = {}
        self._known_masks: dict[Node, list[int]] = {}
        self._looks_left = _MOST_LOOKS
        self.is_cut = False
        """True if there was more code than the limits permit."""

    # -- reach

    def reach(self, target: Target, image: int) -> Reach:
        """Return the waits that a call of a target reaches."""
        if isinstance(target, Node):
            found = self._reaches.get(target)
            if found is None:
                self._solve(target)
                found = self._reaches.get(target, _NOTHING)
            return found
        if target is None:
            return _UNKNOWN
        return self._named.get((target, image)) or self._of_name(target, image)

    def _of_name(self, name: str, image: int) -> Reach:
        found = self._named[name, image] = Reach(self._bit(name, image), name in waits.GIL)
        return found

    def _bit(self, name: str, image: int) -> int:
        if name in waits.CLASSES:
            return waits.BIT[name]
        if name in waits.SHARED:
            return waits.BIT[name] if self._program.shares_locks(image) else 0
        return 0

    def _solve(self, root: Node) -> None:
        """Run Tarjan's algorithm, with an explicit stack."""
        done = self._reaches
        index: dict[Node, int] = {}
        low: dict[Node, int] = {}
        stack: list[Node] = []
        waiting: set[Node] = set()
        work: list[tuple[Node, list[Node]]] = []

        def enter(node: Node) -> None:
            index[node] = low[node] = len(index)
            stack.append(node)
            waiting.add(node)
            if len(done) + len(index) > _MOST_FUNCTIONS:
                self.is_cut = True
                work.append((node, []))
                return
            work.append((node, self._followed(node)))

        enter(root)
        while work:
            node, inner = work[-1]
            while inner:
                target = inner.pop()
                if target in done:
                    continue
                if target not in index:
                    enter(target)
                    break
                if target in waiting:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    self._close(node, stack, waiting)

    def _followed(self, node: Node) -> list[Node]:
        """Return the functions that a function calls, and store what it reaches without them."""
        inner: set[Node] = set()
        mask, changes = 0, False
        for step in self._program.steps(node):
            for target in (*step.targets, *step.handed) if step.handed else step.targets:
                if isinstance(target, Node):
                    inner.add(target)
                else:
                    reach = self.reach(target, node.image)
                    mask |= reach.waits
                    changes = changes or reach.changes
        followed = list(inner)
        self._alone[node] = mask, changes, followed[:]
        return followed

    def _close(self, node: Node, stack: list[Node], waiting: set[Node]) -> None:
        """Give all functions of a component the reach of any of them."""
        members = []
        while True:
            one = stack.pop()
            waiting.discard(one)
            members.append(one)
            if one == node:
                break
        mask, changes = 0, False
        for one in members:
            alone = self._alone.pop(one, None)
            if alone is None:  # its calls are beyond the limit
                alone = (self._followed(one), self._alone.pop(one))[1]
            mask |= alone[0]
            changes = changes or alone[1]
            for target in alone[2]:
                reach = self._reaches.get(target, _NOTHING)
                mask |= reach.waits
                changes = changes or reach.changes
        for one in members:
            self._reaches[one] = Reach(mask, changes)

    # -- state

    def effect(self, node: Node, state: str, depth: int = 0) -> Effect:
        """Return the effect of a function that is entered in a state of the GIL."""
        key = (node, state)
        known = self._effects.get(key)
        if known is not None:
            return known
        self._effects[key] = Effect(frozenset({state}), {}, False)  # for calls of itself
        found: dict[str, int] = {}
        releases = False
        leaves: set[str] = set()
        states = self._states(node, state, depth)
        optional = self._optional(node, states)
        for step, mask, before in states:
            if mask >= 0 and not (step.handed and mask & waits.UNKNOWN):
                if mask:
                    for now in before:
                        if now != RELEASED or optional.isdisjoint(step.targets):
                            found[now] = found.get(now, 0) | mask
                if not step.returns:
                    leaves |= before
                continue
            for target in step.targets:
                for now in before:
                    one = self._called(node, target, now, depth)
                    releases = releases or one.releases
                    if now == RELEASED and target in optional:
                        continue
                    for where, bits in one.waits.items():
                        found[where] = found.get(where, 0) | bits
                        for inner in self._handed(node, step, where, bits, depth):
                            # A trampoline may be handed anything: what names no wait proves none.
                            is_named = any(bits & ~waits.UNKNOWN for bits in inner.waits.values())
                            releases = releases or (inner.releases and is_named)
                            for state_there, there in inner.waits.items():
                                found[state_there] = found.get(state_there, 0) | there
                    if not step.returns:
                        leaves |= one.leaves
        leaves |= self._exits.pop((node, state), set())
        effect = Effect(frozenset(leaves or {state}), found, releases)
        self._effects[key] = effect
        return effect

    def _optional(self, node: Node, states: list[_Met]) -> set[Target]:
        """Return what a function calls with the GIL released on one branch and held on another.

        A setting decides: ``if release: with nogil: work()``, ``else: work()``. That it is held
        is possible; that it is released is not certain.
        """
        released: dict[Target, list[int]] = {}
        for step, mask, before in states:
            if mask and len(before) == 1 and RELEASED in before:
                for target in step.targets:
                    if isinstance(target, Node) or target in waits.CLASSES:
                        released.setdefault(target, []).append(step.at)
        if not released:
            return set()
        held: dict[Target, list[int]] = {}
        for step, _, before in states:
            if len(before) == 1 and HELD in before:
                for target in step.targets:
                    if target in released:
                        held.setdefault(target, []).append(step.at)
        return {
            target
            for target, places in held.items()
            if any(
                self._program.are_alternatives(node, one, other)
                for one in places
                for other in released[target]
            )
        }

    def _masks(self, node: Node) -> list[int]:
        """Return, for each call of a function, its waits; -1 if it may change the GIL's state."""
        found = self._known_masks.get(node)
        if found is None:
            found = self._known_masks[node] = []
            for step in self._program.steps(node):
                mask = 0
                for target in step.targets:
                    reach = self.reach(target, node.image)
                    if reach.changes:
                        mask = -1
                        break
                    mask |= reach.waits
                found.append(mask)
        return found

    def _states(self, node: Node, state: str, depth: int) -> list[_Met]:
        """Return the calls of a function, each with the possible states of the GIL."""
        steps, masks = self._program.steps(node), self._masks(node)
        changing = {
            number
            for number, step in enumerate(steps)
            if masks[number] < 0 and step.returns and self._changes(node, step, state, depth)
        }
        if not changing:
            self._exits[node, state] = {state}
            alone = frozenset({state})
            return [_Met(step, mask, alone) for step, mask in zip(steps, masks, strict=True)]
        graph = self._program.blocks(node)
        inside: dict[int, list[int]] = {}
        starts = sorted(graph)
        for number, step in enumerate(steps):
            inside.setdefault(starts[bisect_right(starts, step.at) - 1], []).append(number)
        entered: dict[int, set[str]] = {node.address: {state}}
        todo = [node.address]
        met: list[set[str]] = [set() for _ in steps]
        exits: set[str] = set()
        while todo:
            block = graph[todo.pop()]
            now = set(entered[block.start])
            for number in inside.get(block.start, ()):
                met[number] |= now
                step = steps[number]
                if masks[number] < 0 and step.returns and (number in changing or now != {state}):
                    now = {
                        after
                        for target in step.targets
                        for before in now
                        for after in self._called(node, target, before, depth).leaves
                    }
            if not block.following:
                exits |= now
            for following in block.following:
                known = entered.setdefault(following, set())
                if not now <= known:
                    known |= now
                    todo.append(following)
        self._exits[node, state] = exits
        return [
            _Met(step, mask, frozenset(states))
            for step, mask, states in zip(steps, masks, met, strict=True)
            if states
        ]

    def _handed(
        self, node: Node, step: Invocation, state: str, mask: int, depth: int
    ) -> list[Effect]:
        """Return the effects of the functions that a call passes and the callee may call.

        Args:
            node: The caller.
            step: The call.
            state: The state of the GIL in which the callee calls.
            mask: The waits of the callee in that state.
            depth: The number of calls around it.
        """
        if not mask & waits.UNKNOWN:
            return []
        return [self._called(node, target, state, depth) for target in step.handed]

    def _changes(self, node: Node, step: Invocation, state: str, depth: int) -> bool:
        """Return whether a call may change the state of the GIL."""
        return any(
            self._called(node, target, state, depth).leaves != {state}
            for target in step.targets
            if self.reach(target, node.image).changes
        )

    def _called(self, node: Node, target: Target, state: str, depth: int) -> Effect:
        if isinstance(target, str):
            if target in waits.RELEASE:
                return _RELEASES
            if target in waits.TAKE:
                return _STAYS[HELD]
            if target == waits.ENSURE:
                return _STAYS[TAKEN if state == RELEASED else state]
            if target == waits.LEAVE:
                return _STAYS[RELEASED if state == TAKEN else state]
        reach = self.reach(target, node.image)
        if isinstance(target, Node) and reach.changes and depth < _DEEPEST:
            return self.effect(target, state, depth + 1)
        if not reach.waits:
            return _STAYS[state]
        return Effect(frozenset({state}), {state: reach.waits}, False)

    # -- chains

    def chain(self, root: Node, state: str, bit: int) -> list[Node]:
        """Return the functions from a method to the one that waits, by the shortest way.

        A way through a method that is called by its Python name counts as long: its receiver may
        be another object.

        Args:
            root: The method's function.
            state: The state of the GIL in which it is reached.
            bit: The wait.
        """
        found: dict[tuple[Node, str], tuple[Node, str] | None] = {(root, HELD): None}
        todo = [(0, 0, root, HELD)]
        count = 0
        while todo:
            cost, _, node, now = heappop(todo)
            if not self.reach(node, node.image).changes:
                return _way(found, (node, now)) + self._nearest(node, bit)
            for target, after, added in self._leading(node, now, state, bit):
                if not isinstance(target, Node):
                    return _way(found, (node, now))
                if (target, after) not in found:
                    count += 1
                    found[target, after] = (node, now)
                    heappush(todo, (cost + added, count, target, after))
        return [root]

    def _leading(
        self, node: Node, now: str, state: str, bit: int
    ) -> Iterator[tuple[Target, str, int]]:
        """Yield the calls of a function that lead to a wait, with the GIL's state and the cost."""
        for step, _, before in self._calls(node, now):
            for target in step.targets:
                for one in sorted(before):
                    inner = self._called(node, target, one, 0).waits
                    if inner.get(state, 0) & bit:
                        yield target, one, self._cost(node, step, target)
                        continue
                    for where, mask in inner.items() if step.handed else ():
                        for taken, there in zip(
                            step.handed, self._handed(node, step, where, mask, 0), strict=False
                        ):
                            if there.waits.get(state, 0) & bit:
                                yield taken, where, 1

    def _calls(self, node: Node, now: str) -> list[_Met]:
        """Return the calls of a function by `_states`, kept for the chains of other methods."""
        found = self._kept.get((node, now))
        if found is None:
            found = self._kept[node, now] = self._states(node, now, 0)
            self._exits.pop((node, now), None)
        return found

    def _cost(self, node: Node, step: Invocation, target: Target) -> int:
        if not isinstance(target, Node) or target == step.targets[0]:
            return 1
        if target.address not in self._program.namesakes:
            return _ONLY
        return _OWN if self._program.is_of_same_type(node, target) else _OTHER

    def _nearest(self, node: Node, bit: int) -> list[Node]:
        """Return the functions on the shortest path to a wait without a change of the GIL."""
        before: dict[Node, Node | None] = {node: None}
        todo = [node]
        for one in todo:
            self._looks_left -= 1
            if self._looks_left < 0:
                break
            for step in self._program.steps(one):
                for target in (*step.targets, *step.handed):
                    if not isinstance(target, Node):
                        if self.reach(target, one.image).waits & bit:
                            path: list[Node] = []
                            last: Node | None = one
                            while last is not None and last != node:
                                path.insert(0, last)
                                last = before[last]
                            return path
                    elif target not in before and self.reach(target, one.image).waits & bit:
                        before[target] = one
                        todo.append(target)
        return []


def _way(
    found: dict[tuple[Node, str], tuple[Node, str] | None], last: tuple[Node, str] | None
) -> list[Node]:
    """Return the functions from the root of a search to the last one, by their predecessors."""
    way: list[Node] = []
    while last is not None:
        way.append(last[0])
        last = found[last]
    return way[::-1]
