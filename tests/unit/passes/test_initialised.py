"""Definite initialisation: which uses are errors, and what the diagnostics say."""

import pytest
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Sink
from ktc.diag.source import Source, Span
from ktc.ir.nodes import Block, Break, Function, Let, Loop, Mark, Return
from ktc.passes import definite_initialization
from passes_machine import Writer, assign, assign_field, declare, fill, fill_field, function, new, take, take_field, use

TEXT = "var x\nmove x\nuse x\nuse x again\n"
SOURCE = Source("t.kpy", TEXT)
DECLARED, MOVED, USED, AGAIN = (Span(SOURCE, TEXT.index(part), TEXT.index(part) + 3) for part in TEXT.splitlines())


@pytest.fixture
def w() -> Writer:
    return Writer()


def reported(one: Function) -> list[str]:
    sink = Sink()
    assert definite_initialization.run(one, None, sink) is one
    assert all(found.code is Code.UNINITIALIZED for found in sink.diagnostics)
    return [found.message for found in sink.diagnostics]


def require(local, span=USED, path=()):
    return [Mark("require", local, path, span)]


BEFORE = "'x' is used before it has a value"
MOVED_AWAY = "'x' is used after it was moved"


def test_never_initialised(w):
    x = w.local("x", drop="", span=DECLARED)
    sink = Sink()
    definite_initialization.run(function(declare(x), require(x)), None, sink)
    (found,) = sink.diagnostics
    assert (found.code, found.message, found.span) == (Code.UNINITIALIZED, BEFORE, USED)
    assert [(note.span, note.text) for note in found.notes] == [(DECLARED, "'x' is declared here")]


def test_moved_away(w):
    x = w.local("x")
    sink = Sink()
    definite_initialization.run(function(new(x), [Mark("consume", x, (), MOVED)], require(x)), None, sink)
    (found,) = sink.diagnostics
    assert (found.message, found.span) == (MOVED_AWAY, USED)
    assert [(note.span, note.text) for note in found.notes] == [(MOVED, "moved away here")]


def test_one_mistake_one_message(w):
    x = w.local("x")
    assert reported(function(declare(x), require(x), require(x, AGAIN))) == [BEFORE]


def test_initialised_in_both_arms(w):
    x = w.local("x")
    assert reported(function(declare(x), w.when(fill(x), fill(x)), require(x))) == []
    assert reported(function(declare(x), w.when(fill(x), [Return()]), require(x))) == []


def test_initialised_in_one_arm(w):
    x = w.local("x")
    assert reported(function(declare(x), w.when(fill(x)), require(x))) == [BEFORE]


def test_moved_in_one_arm(w):
    x = w.local("x")
    assert reported(function(new(x), w.when(take(x)), require(x))) == [MOVED_AWAY]
    assert reported(function(new(x), w.when(take(x)), assign(x), require(x))) == []
    assert reported(function(new(x), w.when([*take(x), Return()]), require(x))) == []


def test_moved_in_a_loop(w):
    x = w.local("x")
    sink = Sink()
    body = (*w.when([Break(1)]), *require(x, USED), Mark("consume", x, (), AGAIN))
    definite_initialization.run(function(new(x), [Loop(1, body)]), None, sink)
    (found,) = sink.diagnostics
    assert (found.message, found.notes[0].span) == (MOVED_AWAY, AGAIN)


def test_initialised_in_a_loop_before_its_exit(w):
    x = w.local("x")
    body = (*fill(x), *w.when([Break(1)]), *assign(x))
    assert reported(function(declare(x), [Loop(1, body)], require(x))) == []
    body = (*w.when([Break(2)]), *fill(x))
    assert reported(function(declare(x), [Loop(2, body)], require(x))) == [BEFORE]


def test_each_iteration_declares_the_variable_again(w):
    x = w.local("x")
    body = (*declare(x), *w.when(require(x)), *fill(x))
    assert reported(function([Loop(1, body)])) == [BEFORE]


def test_jump_out_of_a_block_skips_the_init(w):
    x = w.local("x")
    block = Block(1, (*declare(x), *w.when([Break(1)]), *fill(x)))
    assert reported(function(declare(x), [block], require(x))) == [BEFORE]


def test_assignment_that_raises_leaves_no_value(w):
    x = w.local("x")
    block = Block(1, (Mark("overwrite", x), *w.when([Break(1)]), *fill(x)))
    assert reported(function(new(x), [block], require(x))) == [BEFORE]


def test_what_cannot_be_reached_is_not_judged(w):
    x = w.local("x")
    assert reported(function(declare(x), [Loop(1, ())], require(x))) == []


def test_without_declaration_or_init_there_is_no_value(w):
    x = w.local("x")
    assert reported(function(require(x))) == [BEFORE]


def test_temporary_has_no_name(w):
    x = w.local("")
    assert reported(function(declare(x), require(x))) == ["the value is used before it has a value"]


def test_fields_of_a_constructor(w):
    s = w.pair("self")
    both = [*declare(s), *fill_field(s, 0), *fill_field(s, 1)]
    assert reported(function(both, require(s))) == []
    assert reported(function(both[:3], require(s))) == ["a field of 'self' is used before it has a value"]
    assert reported(function(both[:3], require(s, path=(0,)), require(s, AGAIN, (1,)))) == [
        "a field of 'self' is used before it has a value"
    ]
    assert reported(function(declare(s), require(s))) == ["'self' is used before it has a value"]


def test_field_moved_out(w):
    s = w.pair("s")
    assert reported(function(new(s), take_field(s, 0), require(s, path=(1,)))) == [
        "a field of 's' is moved away and gets no new value, so the rest of 's' cannot be destroyed"
    ]
    assert reported(function(new(s), take_field(s, 0), fill_field(s, 0), require(s, path=(1,)))) == []
    assert reported(function(new(s), take_field(s, 0), require(s))) == ["a field of 's' is used after it was moved"]
    assert reported(function(new(s), take_field(s, 0), assign_field(s, 0), require(s))) == []


def test_move_out_of_a_field_of_a_field_is_not_supported(w):
    s, sink = w.pair("s"), Sink()
    definite_initialization.run(function(new(s), [Mark("consume", s, (0, 1), USED)]), None, sink)
    (found,) = sink.diagnostics
    assert (found.code, found.span) == (Code.UNSUPPORTED, USED)


def test_plain_variable_without_destructor_is_checked_too(w):
    x = w.local("x", drop="")
    assert reported(function(declare(x), use(x))) == [BEFORE]
    assert isinstance(use(x)[-1], Let)
