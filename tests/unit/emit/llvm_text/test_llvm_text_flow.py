"""Control flow of llvm_text: dominators, loops and reachability against their definitions, on random graphs."""

import random

import pytest
from ktc.emit.llvm_text import flow
from ktc.emit.llvm_text.functions import Function

SEEDS = range(60)


def graph(seed: int) -> dict[str, list[str]]:
    """Return a random graph; some of its nodes may be out of reach."""
    made = random.Random(seed)
    names = [f"b{number}" for number in range(made.randint(1, 9))]
    return {name: made.sample(names, made.randint(0, min(3, len(names)))) for name in names}


def reached(edges: dict[str, list[str]], start: str, without: str = "") -> set[str]:
    """Return what can be reached, without going through a node."""
    found, work = set(), [start] if start != without else []
    while work:
        name = work.pop()
        if name not in found and name != without:
            found.add(name)
            work += edges[name]
    return found


def dominators(edges: dict[str, list[str]], root: str) -> dict[str, set[str]]:
    """Return by node the nodes without which it cannot be reached."""
    every = reached(edges, root)
    return {name: {one for one in every if name not in reached(edges, root, one)} for name in every}


@pytest.mark.parametrize("seed", SEEDS)
def test_immediate_dominators(seed: int) -> None:
    edges = graph(seed)
    expected = dominators(edges, "b0")
    parents = flow.immediate_dominators(edges, "b0")
    assert parents.keys() == expected.keys()
    for name, above in expected.items():
        assert set(flow.dominators_of(parents, name)) == above
        assert {one for one in edges if flow.dominates(parents, one, name)} == above


@pytest.mark.parametrize("seed", SEEDS)
def test_order_reachability_and_loops(seed: int) -> None:
    edges = graph(seed)
    every, above = reached(edges, "b0"), dominators(edges, "b0")
    sequence = flow.order(edges, "b0")
    assert set(sequence) == every and sequence[0] == "b0"
    assert flow.reached(edges, ["b0"]) == every
    for goal in edges:
        assert flow.reaching(edges, [goal]) == {name for name in edges if goal in reached(edges, name)}
    number = {name: at for at, name in enumerate(sequence)}
    heads = {
        target for name in every for target in edges[name] if number[target] <= number[name] and target in above[name]
    }
    loops = flow.loops_of(edges, "b0")
    assert loops.keys() == heads
    for head, loop in loops.items():
        tails = [name for name in every if head in edges[name] and head in above[name] and number[head] <= number[name]]
        around = {name for name in edges if any(name in loop_to(edges, tail, head) for tail in tails)}
        assert loop == around | {head}


def loop_to(edges: dict[str, list[str]], tail: str, head: str) -> set[str]:
    """Return the nodes from which a tail is reached without passing the head."""
    return {name for name in edges if name != head and tail in reached(edges, name, head)}


def test_control_dependences() -> None:
    edges = {"if": ["then", "join"], "then": ["join"], "join": []}
    parents = flow.immediate_dominators(flow.reversed_edges(edges), "join")
    assert flow.control_dependences(edges, parents) == {"if": set(), "then": {"if"}, "join": set()}


def test_the_edges_of_a_function() -> None:
    text = """define void @f(i32 %0) {
  switch i32 %0, label %2 [
    i32 0, label %"a b"
    i32 1, label %2
  ]

2:                                                ; preds = %"a b", %1, %1
  ret void

"a b":                                            ; preds = %1
  br label %2
}"""
    function = Function(text.split("\n"))
    assert function.edges == {"%1": ["%2", '%"a b"'], "%2": [], '%"a b"': ["%2"]}
    assert flow.immediate_dominators(function.edges, "%1") == {"%1": "%1", "%2": "%1", '%"a b"': "%1"}
