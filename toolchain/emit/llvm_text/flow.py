"""Dominators, control dependence and reachability of a graph given as successors by name."""

from collections.abc import Iterable, Mapping, Sequence, Set

Edges = Mapping[str, Sequence[str]]


def order(edges: Edges, root: str) -> list[str]:
    """Return the nodes that can be reached from `root`, in reverse postorder."""
    done: list[str] = []
    seen = {root}
    stack = [(root, iter(edges[root]))]
    while stack:
        name, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(edges[target])))
                break
        else:
            done.append(name)
            stack.pop()
    return done[::-1]


def reversed_edges(edges: Edges) -> dict[str, list[str]]:
    """Return where control comes from."""
    found: dict[str, list[str]] = {name: [] for name in edges}
    for name, targets in edges.items():
        for target in targets:
            found[target].append(name)
    return found


def immediate_dominators(edges: Edges, root: str) -> dict[str, str]:
    """Return by node its immediate dominator, the root's is itself (Cooper, Harvey, Kennedy)."""
    sequence = order(edges, root)
    number = {name: at for at, name in enumerate(sequence)}
    before = {name: [pred for pred in preds if pred in number] for name, preds in reversed_edges(edges).items()}
    found = {root: root}
    changed = True
    while changed:
        changed = False
        for name in sequence[1:]:
            new = ""
            for pred in before[name]:
                if pred in found:
                    new = pred if not new else _meet(found, number, pred, new)
            if found.get(name) != new:
                found[name] = new
                changed = True
    return found


def _meet(found: Mapping[str, str], number: Mapping[str, int], left: str, right: str) -> str:
    while left != right:
        while number[left] > number[right]:
            left = found[left]
        while number[right] > number[left]:
            right = found[right]
    return left


def dominates(parents: Mapping[str, str], above: str, below: str) -> bool:
    """Return whether each way to `below` leads through `above`, by the immediate dominators."""
    while below != above:
        parent = parents.get(below, below)
        if parent == below:
            return False
        below = parent
    return True


def dominators_of(parents: Mapping[str, str], name: str) -> list[str]:
    """Return the nodes that each way to one leads through, by the immediate dominators, from itself up."""
    found = [name]
    while parents.get(name, name) != name:
        name = parents[name]
        found.append(name)
    return found


def control_dependences(edges: Edges, parents: Mapping[str, str]) -> dict[str, set[str]]:
    """Return by node the branches that decide whether it is run.

    Args:
        parents: the immediate postdominators.
    """
    found: dict[str, set[str]] = {name: set() for name in edges}
    for name, targets in edges.items():
        if len(targets) < 2 or name not in parents:
            continue
        for target in targets:
            at = target
            while at != parents[name]:
                found[at].add(name)
                if parents.get(at, at) == at:
                    break
                at = parents[at]
    return found


def reaching(edges: Edges, goals: Iterable[str]) -> set[str]:
    """Return the nodes from which one of `goals` can be reached, with these."""
    before = reversed_edges(edges)
    found = set(goals)
    work = list(found)
    while work:
        for pred in before[work.pop()]:
            if pred not in found:
                found.add(pred)
                work.append(pred)
    return found


def reached(edges: Edges, starts: Iterable[str], ends: Set[str] = frozenset()) -> set[str]:
    """Return the nodes that can be reached, starts included, without going on from `ends`."""
    found = set(starts)
    work = list(found)
    while work:
        name = work.pop()
        for target in edges[name] if name not in ends else ():
            if target not in found:
                found.add(target)
                work.append(target)
    return found


def loops_of(edges: Edges, root: str) -> dict[str, set[str]]:
    """Return the natural loops, the blocks of each by its first one."""
    parents = immediate_dominators(edges, root)
    before = reversed_edges(edges)
    number = {name: at for at, name in enumerate(order(edges, root))}
    found: dict[str, set[str]] = {}
    for name in parents:
        for target in edges[name]:
            if number[target] > number[name] or not dominates(parents, target, name):
                continue
            loop = found.setdefault(target, {target})
            work = [name]
            while work:
                at = work.pop()
                if at not in loop:
                    loop.add(at)
                    work += before[at]
    return found
