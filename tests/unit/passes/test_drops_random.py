"""Random functions: each value is destroyed exactly once on every path, and never used afterwards.

The writer of a function knows which locals surely hold a value where it stands, so that it only writes what the front
end would accept: the passes must find no error, and the machine no fault. The same function, unchanged, tells what must
happen otherwise: all events but the drops are the same before and after.
"""

import random
from dataclasses import dataclass, field

import pytest
from ktc.diag.diagnostic import Sink
from ktc.ir.nodes import Block, Break, Continue, Declare, Function, If, Local, Loop, Mark, Return, Statement, Temp
from ktc.passes import definite_initialization
from passes_machine import (
    Fault,
    Machine,
    OutOfSteps,
    Writer,
    assign,
    assign_field,
    at,
    declare,
    fill,
    function,
    passed,
    say,
    take,
    take_field,
    use,
)

YES, NO, MAYBE = 1, 0, -1

State = dict[tuple[Local, int], int]
"""For each place whether it holds a value."""


@dataclass
class Target:
    """A loop or block that may be left: what must hold where the jump lands, None if anything may."""

    label: int
    is_loop: bool
    head: State | None
    arrivals: list[State] = field(default_factory=list)


class Author:
    """Writes one random function."""

    def __init__(self, seed: int) -> None:
        self.random, self.w, self.targets, self.budget = random.Random(seed), Writer(), [], 60
        self.pointers: list[tuple[Temp, Local]] = []

    def function(self) -> Function:
        body, _ = self.block({}, [], 0)
        return function(body)

    def places(self, local: Local) -> list[tuple[Local, int]]:
        return [(local, index) for index in range(2 if local.field_drops else 1)]

    def holds(self, state: State, local: Local) -> int:
        found = {state.get(place, NO) for place in self.places(local)}
        return found.pop() if len(found) == 1 else MAYBE

    def put(self, state: State, local: Local, what: int) -> None:
        for place in self.places(local):
            state[place] = what

    def merge(self, states: list[State]) -> State | None:
        """What holds where several paths meet; None if no path leads there."""
        if not states:
            return None
        keys = set.intersection(*(set(state) for state in states))
        return {key: states[0][key] if len({state[key] for state in states}) == 1 else MAYBE for key in keys}

    def block(self, state: State, scope: list[Local], depth: int) -> tuple[list[Statement], State | None]:
        """Return statements, and what holds after them (None: their end is not reached)."""
        out: list[Statement] = []
        scope, known = list(scope), len(self.pointers)
        now: State | None = dict(state)
        for _ in range(self.random.randint(1, 7)):
            self.budget -= 1
            if now is None or self.budget < 0:
                break
            more, now = self.one(now, scope, depth)
            out += more
        del self.pointers[known:]
        return out, now

    def one(self, state: State, scope: list[Local], depth: int) -> tuple[list[Statement], State | None]:
        pick = self.random.random()
        if pick < 0.25 or not scope:
            return self.declare(state, scope)
        if pick < 0.65:
            return self.plain(state, self.random.choice(scope))
        if pick < 0.70:
            return say("x"), state
        if pick < 0.80 and self.targets:
            return self.jump(state)
        if depth > 3:
            return say("y"), state
        if pick < 0.90:
            return self.branch(state, scope, depth)
        return self.nest(state, scope, depth, pick < 0.95)

    def declare(self, state: State, scope: list[Local]) -> tuple[list[Statement], State]:
        name = f"v{self.w.ids}"
        surely = [local for local in scope if self.holds(state, local) == YES and not local.field_drops]
        kind = self.random.random()
        if kind < 0.2:
            local = self.w.pair(name, drop="drop" if self.random.random() < 0.6 else "")
        elif kind < 0.4 and surely:
            local = self.w.local(name, drop=self.random.choice(["", "drop"]), points_to=(self.random.choice(surely),))
        elif kind < 0.5:
            local = self.w.local(name, drop="", points_to_all=True)
        else:
            local = self.w.local(name, drop="drop" if self.random.random() < 0.9 else "")
        scope.append(local)
        self.put(state, local, NO)
        out = declare(local)
        if local.points_to or self.random.random() < 0.7:
            out += [*(Mark("require", pin) for pin in local.points_to), *fill(local, *local.points_to)]
            self.put(state, local, YES)
        return out, state

    def plain(self, state: State, local: Local) -> tuple[list[Statement], State]:
        """Use, move, assign: whatever is allowed."""
        holds, pick = self.holds(state, local), self.random.random()
        if local.field_drops and pick < 0.5:
            index = self.random.randrange(2)
            if state[(local, index)] != YES or pick < 0.15:
                state[(local, index)] = YES
                return assign_field(local, index), state
            if pick < 0.3:
                return [Mark("require", local, (index,)), *use(at(local, index))], state
            state[(local, index)] = NO
            return take_field(local, index), state
        fixed = any(local in other.points_to for other, _ in state)
        if holds == YES and pick < 0.55:
            pointers = [temp for temp, base in self.pointers if base is local]
            if pointers and self.random.random() < 0.5:
                return [Mark("require", local), *use(self.random.choice(pointers))], state
            if self.random.random() < 0.4:
                let, temp = self.w.peek(at(local))
                self.pointers.append((temp, local))
                return [Mark("require", local), let], state
            return use(local), state
        # What another points into is never replaced or moved here, so that the machine can judge the pointers.
        if fixed or local.points_to:
            return say("fixed"), state
        if holds == YES and pick < 0.75:
            self.put(state, local, NO)
            return take(local), state
        self.put(state, local, YES)
        return assign(local), state

    def branch(self, state: State, scope: list[Local], depth: int) -> tuple[list[Statement], State | None]:
        then, after_then = self.block(state, scope, depth + 1)
        orelse, after_else = self.block(state, scope, depth + 1) if self.random.random() < 0.6 else ([], state)
        let, temp = self.w.ask()
        after = self.merge([one for one in (after_then, after_else) if one is not None])
        return [let, If(temp, tuple(then), tuple(orelse))], self.narrow(after, state)

    def narrow(self, after: State | None, before: State) -> State | None:
        """Forget the locals of an inner scope."""
        return None if after is None else {key: after[key] for key in before}

    def nest(self, state: State, scope: list[Local], depth: int, loop: bool) -> tuple[list[Statement], State | None]:
        head = dict(state)
        if loop:
            # What the body may change must be uncertain when a turn begins, or be put right before the next.
            pinned = {pin for other, _ in state for pin in other.points_to}
            for place in head:
                if not place[0].points_to and place[0] not in pinned and self.random.random() < 0.5:
                    head[place] = MAYBE
        target = Target(self.w.fresh(), loop, head if loop else None)
        self.targets.append(target)
        body, end = self.block(head, scope, depth + 1)
        if loop:
            if end is not None:
                body += self.mend(end, head)
            let, temp = self.w.ask()
            body = [let, If(temp, (Break(target.label),)), *body]
            target.arrivals.append(head)
        elif end is not None:
            target.arrivals.append(end)
        self.targets.pop()
        after = self.merge(target.arrivals)
        node = Loop(target.label, tuple(body)) if loop else Block(target.label, tuple(body))
        return [node], self.narrow(after, state)

    def mend(self, state: State, head: State) -> list[Statement]:
        """Make true again what the next turn takes for granted."""
        out: list[Statement] = []
        for (local, index), wanted in head.items():
            if wanted == NO and state[(local, index)] != NO:
                # There is no "maybe move": start over, which ends with the value present and moved.
                out += assign_field(local, index) if local.field_drops else assign(local)
                out += take_field(local, index) if local.field_drops else take(local)
            if wanted == YES and state[(local, index)] != YES:
                out += assign_field(local, index) if local.field_drops else assign(local)
        return out

    def jump(self, state: State) -> tuple[list[Statement], State | None]:
        """A conditional or plain jump to some target, or a return."""
        target, pick = self.random.choice(self.targets), self.random.random()
        if pick < 0.15:
            out: list[Statement] = [Return()]
        elif target.is_loop and pick < 0.5:
            assert target.head is not None
            out = [*self.mend(state, target.head), Continue(target.label)]
        else:
            out = [Break(target.label)]
            target.arrivals.append(dict(state))
        if self.random.random() < 0.7:
            let, temp = self.w.ask()
            return [let, If(temp, tuple(out))], state
        return out, None


def events(one: Function, choices: list[int], strict: bool) -> list[str] | None:
    """The events of a run, None if it does not end."""
    machine = Machine(list(choices), strict)
    try:
        machine.run(one)
    except OutOfSteps:
        return None
    except Fault as fault:
        raise AssertionError(f"{fault}\nchoices {choices[:14]}\n{one.body}") from fault
    return machine.events


def needed(before: list[str], after: list[str]) -> bool:
    """Return whether the events but for drops agree, and everything that is to be alive is."""
    after = [event for event in after if not event.startswith("drop")]
    if len(before) != len(after):
        return False
    for old, new in zip(before, after, strict=True):
        if old.startswith("alive:"):
            if not new.startswith("alive:") or not set(old.split()) <= set(new.split()):
                return False
        elif old != new:
            return False
    return True


@pytest.mark.parametrize("chunk", range(10))
def test_exactly_once_on_every_path(chunk):
    for seed in range(chunk * 60, chunk * 60 + 60):
        before = Author(seed).function()
        after = passed(before)
        choose = random.Random(seed)
        for _ in range(12):
            choices = [choose.randint(0, 1) for _ in range(14)] + [1] * 200
            old, new = events(before, choices, False), events(after, choices, True)
            if old is not None and new is not None:
                assert needed(old, new), (seed, choices, old, new)


def test_no_error_means_no_bad_use():
    """Marks shuffled at random: whenever the check is content, no path uses what is not there."""
    content = faulty = 0
    for seed in range(400):
        one = mutilated(Author(seed).function(), random.Random(seed))
        sink = Sink()
        definite_initialization.run(one, None, sink)
        choose, bad = random.Random(seed), False
        for _ in range(10):
            machine = Machine([choose.randint(0, 1) for _ in range(14)] + [1] * 200, strict=False)
            try:
                machine.run(one)
            except OutOfSteps:
                continue
            except Fault:
                bad = True
        assert not (bad and sink.error_count == 0), (seed, one.body)
        content += sink.error_count == 0
        faulty += bad
    assert content > 20 and faulty > 20


def mutilated(one: Function, choose: random.Random) -> Function:
    """Leave out one statement of the body, with the marks that belong to it."""
    body = list(one.body)
    fills = [at for at, part in enumerate(body) if isinstance(part, Mark) and part.kind == "init"]
    if fills:
        where = choose.choice(fills)
        del body[where - 1 : where + 1]
    assert all(not isinstance(part, Declare) or part in one.body for part in body)
    return Function(one.symbol, one.title, one.params, one.result, tuple(body))
