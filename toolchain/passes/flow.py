"""Control flow of one function as a flat graph, and the two dataflow problems the passes solve on it.

Input: a structured body and a function that says what each statement does to the facts of a pass (`Effect`). Output: a
`Graph`, whose nodes are only the statements that matter, and for each node the facts before and after. A set of facts
is one int, a bit for each. Each pass gives the bits its meaning.

The graph is built in program order, so a node's index is a topological order but for the edges back to a loop's head:
sweeping in index order ends after about as many rounds as loops are nested.
"""

from collections.abc import Callable, Sequence
from dataclasses import field

from ktc.base.records import entity, record
from ktc.ir.nodes import Block, Break, Continue, If, Loop, Return, Statement, Unreachable


@record
class Effect:
    """The effect of a statement; each field is a set of bits.

    Args:
        use: looked at here: live before.
        kill: released here: dead before, whatever comes after (unless also in `use`).
        gain: holds a value afterwards.
        lose: holds none afterwards (gain wins).
        lead: destroyed just before the statement, if there is a value; a part of a whole that lives on.
        keep: parts of a whole that lives on and is not read here: live before.
        mentioned: bits in the order in which the statement mentions them.
    """

    use: int = 0
    kill: int = 0
    gain: int = 0
    lose: int = 0
    lead: int = 0
    keep: int = 0
    mentioned: tuple[int, ...] = ()


NOTHING = Effect()


@entity
class Arm:
    """A nested list of statements. `entry` is a node without effect for the arms of an `If` and the body of a `Loop`,
    -1 for a block's."""

    entry: int
    steps: list["Step"] = field(default_factory=list)
    rest: Sequence[Statement] = ()
    """Statements that control cannot reach."""


@entity
class Step:
    """One statement with its node (-1 if it has no effect) and its nested lists."""

    statement: Statement
    node: int = -1
    arms: tuple[Arm, ...] = ()


@entity
class Graph:
    """The flow of one function. Only an `If` has two successors: the entries of its arms."""

    effects: list[Effect] = field(default_factory=list)
    successors: list[list[int]] = field(default_factory=list)
    predecessors: list[list[int]] = field(default_factory=list)
    body: Arm = field(default_factory=lambda: Arm(0))


@entity
class Facts:
    """Sets at each node: live before it; surely and possibly holding a value before and after it."""

    live: list[int]
    definite: list[int]
    possible: list[int]
    definite_after: list[int]
    possible_after: list[int]


def _no_scope() -> object:
    return None


def _no_end(_: object) -> None:
    pass


def build(
    body: Sequence[Statement],
    effect: Callable[[Statement], Effect | None],
    enter: Callable[[], object] = _no_scope,
    leave: Callable[[object], None] = _no_end,
) -> Graph:
    """Build the graph of a function's body.

    Args:
        effect: asked once for each reachable statement, in program order; None: no node is needed.
        enter, leave: called around each nested list of statements (a scope); what `enter` gives, `leave` gets.
    """
    builder = _Builder(effect, enter, leave)
    entry = builder.node(NOTHING, [])
    builder.ends = [entry]
    builder.graph.body = builder.arm(body, entry)
    return builder.graph


class _Builder:
    def __init__(
        self,
        effect: Callable[[Statement], Effect | None],
        enter: Callable[[], object],
        leave: Callable[[object], None],
    ) -> None:
        self.graph = Graph()
        self.effect, self.enter, self.leave = effect, enter, leave
        self.ends: list[int] = []  # nodes from which control comes to the next statement; none: unreachable
        self.breaks: dict[int, list[int]] = {}
        self.heads: dict[int, int] = {}

    def node(self, effect: Effect, origins: list[int]) -> int:
        graph, index = self.graph, len(self.graph.effects)
        graph.effects.append(effect)
        graph.successors.append([])
        graph.predecessors.append([])
        for origin in origins:
            self.edge(origin, index)
        return index

    def edge(self, origin: int, target: int) -> None:
        self.graph.successors[origin].append(target)
        self.graph.predecessors[target].append(origin)

    def arm(self, statements: Sequence[Statement], entry: int) -> Arm:
        scope = self.enter()
        arm = Arm(entry)
        for at, statement in enumerate(statements):
            if not self.ends:
                arm.rest = statements[at:]
                break
            arm.steps.append(self.step(statement))
        self.leave(scope)
        return arm

    def step(self, statement: Statement) -> Step:
        match statement:
            case If():
                return self.branch(statement)
            case Loop(label, body):
                head = self.node(NOTHING, self.ends)
                self.heads[label], self.breaks[label], self.ends = head, [], [head]
                arm = self.arm(body, head)
                for end in self.ends:
                    self.edge(end, head)
                self.ends = self.breaks.pop(label)
                return Step(statement, -1, (arm,))
            case Block(label, body):
                self.breaks[label] = []
                arm = self.arm(body, -1)
                self.ends = self.ends + self.breaks.pop(label)
                return Step(statement, -1, (arm,))
            case Break(label):
                self.breaks[label] += self.ends
                self.ends = []
                return Step(statement)
            case Continue(label):
                for end in self.ends:
                    self.edge(end, self.heads[label])
                self.ends = []
                return Step(statement)
            case Return() | Unreachable():
                index = self.node(self.effect(statement) or NOTHING, self.ends)
                self.ends = []
                return Step(statement, index)
        effect = self.effect(statement)
        if effect is None:
            return Step(statement)
        index = self.node(effect, self.ends)
        self.ends = [index]
        return Step(statement, index)

    def branch(self, statement: If) -> Step:
        index = self.node(self.effect(statement) or NOTHING, self.ends)
        arms, ends = [], []
        for body in (statement.then, statement.orelse):
            entry = self.node(NOTHING, [index])
            self.ends = [entry]
            arms.append(self.arm(body, entry))
            ends += self.ends
        self.ends = ends
        return Step(statement, index, tuple(arms))


def liveness(graph: Graph) -> list[int]:
    """Return for each node the set that is live before it: used later on some path, and not released before that."""
    return backward(graph, lambda _, effect, after: (after & ~effect.kill) | effect.use | effect.keep)


def backward(graph: Graph, before: Callable[[int, Effect, int], int], start: Sequence[int] = ()) -> list[int]:
    """Return the least sets before each node, from `start` or empty ones on.

    Args:
        before: of a node's index, its effect and the set after it.
    """
    found = list(start) or [0] * len(graph.effects)
    changed = True
    while changed:
        changed = False
        for index in range(len(found) - 1, -1, -1):
            after = 0
            for successor in graph.successors[index]:
                after |= found[successor]
            new = before(index, graph.effects[index], after)
            if new != found[index]:
                found[index], changed = new, True
    return found


def replaced_early(graph: Graph, live: list[int]) -> list[int]:
    """Return the live sets without the parts that nothing looks at any more before `lead` replaces them.

    A use of a whole is a use of its parts, and so is its end, whose destructor may look at them: where the whole is
    not live a part is read still.
    """
    parts = 0
    for effect in graph.effects:
        parts |= effect.lead
    if not parts:
        return live
    read = _read_before_replaced(graph, live, parts, [0] * len(live))
    groups = {effect.lead for effect in graph.effects if effect.lead.bit_count() > 1}
    if groups:
        several = _replaced_together(graph, groups)
        while True:
            found = [_completed(one, groups, inside) for one, inside in zip(read, several, strict=True)]
            if found == read:
                break
            read = _read_before_replaced(graph, live, parts, found)
    return [one & (found | ~parts) for one, found in zip(live, read, strict=True)]


def _read_before_replaced(graph: Graph, live: list[int], parts: int, known: list[int]) -> list[int]:
    """Return for each node the parts at which something looks before they are replaced; `known` are some of them."""
    return backward(
        graph,
        lambda index, effect, after: known[index] | parts & ((after & ~effect.lead) | effect.use | ~live[index]),
        known,
    )


def _replaced_together(graph: Graph, groups: set[int]) -> list[int]:
    """Return for each node the parts whose next replacement is one of several parts at once."""
    return backward(
        graph, lambda _, effect, after: (after & ~effect.lead) | (effect.lead if effect.lead in groups else 0)
    )


def _completed(read: int, groups: set[int], linked_bits: int) -> int:
    """Add to parts that are read those that are replaced together with one of them."""
    for group in groups:
        if read & group & linked_bits:
            read |= linked_bits & group
    return read


def holding(graph: Graph, live: list[int] | None = None, start: int = 0) -> Facts:
    """Solve which bits surely and possibly hold a value at each node.

    With `live`, a bit that is not live at a node does not hold a value there: it has been destroyed on the edge to
    it. `start`: what holds a value when the function begins.
    """
    count = len(graph.effects)
    everything = -1
    if live is None:
        live = [everything] * count
    facts = Facts(live, [everything] * count, [0] * count, [everything] * count, [0] * count)
    changed = True
    while changed:
        changed = False
        for index in range(count):
            effect = graph.effects[index]
            definite, possible = (everything, 0) if index else (start, start)
            for origin in graph.predecessors[index]:
                definite &= facts.definite_after[origin]
                possible |= facts.possible_after[origin]
            definite, possible = definite & facts.live[index], possible & facts.live[index]
            facts.definite[index], facts.possible[index] = definite, possible
            away = ~(effect.lose | effect.lead)
            definite, possible = (definite & away) | effect.gain, (possible & away) | effect.gain
            if definite != facts.definite_after[index] or possible != facts.possible_after[index]:
                facts.definite_after[index], facts.possible_after[index] = definite, possible
                changed = True
    return facts
