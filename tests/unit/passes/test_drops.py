"""Destruction right after the last use, on small functions written by hand; the order of events is the reference's."""

import pytest
from ktc.base.records import replace
from ktc.diag.diagnostic import Bug
from ktc.ir.nodes import Block, Break, Call, Continue, If, Let, Loop, Mark, Return, Temp, Unreachable
from ktc.ir.types import I64, PTR, VOID
from passes_machine import (
    PAIR,
    Writer,
    assign,
    assign_field,
    at,
    declare,
    fill,
    fill_field,
    function,
    new,
    passed,
    say,
    take,
    take_field,
    trace,
    use,
)


@pytest.fixture
def w() -> Writer:
    return Writer()


# ---- straight lines ---------------------------------------------------------------------------------------


def test_function_without_marks_comes_back_itself(w):
    one = function(say("hello"), declare(w.local("a")))
    assert passed(one) is one


def test_without_destructors_the_marks_vanish_and_nothing_else_changes(w):
    a = w.local("a", drop="")
    one = function(new(a), w.when(use(a)))
    after = passed(one)
    assert trace(after, [1]) == "make a, use a"


def test_dropped_right_after_the_last_use(w):
    a = w.local("a")
    one = passed(function(new(a), say("x"), use(a), say("y")))
    assert trace(one) == "make a, say x, use a, drop a, say y"


def test_never_used_is_dropped_after_its_init(w):
    a = w.local("a")
    assert trace(passed(function(new(a), say("x")))) == "make a, drop a, say x"


def test_mark_use_keeps_alive(w):
    a = w.local("a")
    one = passed(function(new(a), say("x"), [Mark("use", a)], say("y")))
    assert trace(one) == "make a, say x, drop a, say y"


def test_order_of_drops_is_that_of_mention(w):
    a, b = w.local("a"), w.local("b")
    assert trace(passed(function(new(a), new(b), use(a, b)))) == "make a, make b, use a b, drop a, drop b"
    c, d = w.local("c"), w.local("d")
    assert trace(passed(function(new(c), new(d), use(d, c)))) == "make c, make d, use d c, drop d, drop c"


def test_order_of_drops_is_that_of_declaration_in_edition_2026(w):
    a, b = w.local("a"), w.local("b")
    one = replace(function(new(a), new(b), use(a, b)), last_declared_first=True)
    assert trace(passed(one)) == "make a, make b, use a b, drop b, drop a"


def test_overwriting_drops_the_old_value_at_its_last_use(w):
    a = w.local("a")
    one = passed(function(new(a), use(a), say("x"), assign(a), use(a), say("y")))
    assert trace(one) == "make a, use a, drop a, say x, make a, use a, drop a, say y"


def test_value_made_from_the_old_one(w):
    a, t = w.local("a"), w.local("t")
    moved = [Let(None, Call("take", (at(t),), VOID)), Mark("consume", t)]
    one = passed(function(new(a), declare(t), fill(t, a), moved, assign(a), use(a)))
    assert trace(one) == "make a, make t, drop a, take t, make a, use a, drop a"


def test_moved_away_is_not_dropped(w):
    a = w.local("a")
    assert trace(passed(function(new(a), take(a), say("x")))) == "make a, take a, say x"


def test_moved_and_initialised_again(w):
    a = w.local("a")
    one = passed(function(new(a), take(a), assign(a), use(a), say("x")))
    assert trace(one) == "make a, take a, make a, use a, drop a, say x"


# ---- branches ---------------------------------------------------------------------------------------------


def test_used_in_one_arm_is_dropped_first_in_the_other(w):
    a, b = w.local("a"), w.local("b")
    one = passed(function(new(a), new(b), w.when([*say("then"), *use(b, a)], say("else")), say("after")))
    assert trace(one, [1]) == "make a, make b, say then, use b a, drop b, drop a, say after"
    assert trace(one, [0]) == "make a, make b, drop a, drop b, say else, say after"


def test_a_use_in_the_then_arm_adds_an_else_arm(w):
    a = w.local("a")
    one = passed(function(new(a), w.when(use(a)), say("after")))
    assert trace(one, [1]) == "make a, use a, drop a, say after"
    assert trace(one, [0]) == "make a, drop a, say after"


def test_condition_is_a_use(w):
    a = w.local("a")
    let, pointer = w.peek(at(a))
    one = passed(function(new(a), [let, If(pointer, tuple(say("then")), tuple(say("else")))], say("after")))
    assert trace(one, []) == "make a, drop a, say then, say after"


def test_moved_in_one_branch(w):
    a = w.local("a")
    one = passed(function(new(a), w.when(take(a), say("else")), say("joined"), assign(a), use(a), say("end")))
    assert trace(one, [1]) == "make a, take a, say joined, make a, use a, drop a, say end"
    assert trace(one, [0]) == "make a, drop a, say else, say joined, make a, use a, drop a, say end"


def test_early_return(w):
    a = w.local("a")
    one = passed(function(new(a), w.when([*say("then"), Return()]), use(a), say("after")))
    assert trace(one, [1]) == "make a, drop a, say then"
    assert trace(one, [0]) == "make a, use a, drop a, say after"


def test_the_result_is_read_before_the_drop(w):
    a = w.local("a")
    number = Temp(w.fresh(), I64)
    one = function(new(a), [Let(number, Call("use", (at(a),), I64)), Return(number)])
    assert trace(passed(replace(one, result=I64))) == "make a, use a, drop a"


def test_nothing_is_dropped_before_unreachable(w):
    a = w.local("a")
    after = passed(function(new(a), w.when([*use(a), Unreachable()], [Unreachable()])))
    assert [type(part) for part in after.body[-2].then] == [Let, Unreachable]
    assert [type(part) for part in after.body[-2].orelse] == [Unreachable]


def test_values_are_dropped_before_a_call_that_does_not_return(w):
    a = w.local("a")
    after = passed(function(new(a), w.when([*say("stop"), Unreachable()], use(a))))
    then = after.body[-2].then
    assert [statement.value.function for statement in then[:-1]] == ["drop", "say stop"]


def test_unreachable_code_has_no_marks_and_no_drops(w):
    a = w.local("a")
    loop = Loop(1, (*say("x"),))
    one = passed(function(new(a), [loop], use(a), assign(a), w.when(take(a))))
    assert len([part for part in one.body if isinstance(part, Return)]) == 1


# ---- loops ------------------------------------------------------------------------------------------------


def test_used_in_a_loop_is_dropped_when_it_is_left(w):
    a = w.local("a")
    loop = Loop(1, (*use(a), *w.when([*say("leave"), Break(1)]), *say("turn")))
    one = passed(function(new(a), [loop], say("after")))
    assert trace(one, [0, 1]) == "make a, use a, say turn, use a, drop a, say leave, say after"


def test_declared_in_a_loop_is_dropped_in_each_turn(w):
    a = w.local("a")
    loop = Loop(1, (*w.when([Break(1)]), *new(a), *use(a), *say("turn")))
    one = passed(function([loop]))
    assert trace(one, [0, 0, 1]) == "make a, use a, drop a, say turn, make a, use a, drop a, say turn"


def test_continue_and_break_drop_on_their_way(w):
    a = w.local("a")
    body = (*new(a), *w.when([*say("c"), Continue(1)]), *w.when([*say("b"), Break(1)]), *use(a))
    one = passed(function([Loop(1, body)], say("after")))
    assert trace(one, [1, 0, 0, 0, 1]) == (
        "make a, drop a, say c, make a, use a, drop a, make a, drop a, say b, say after"
    )


def test_reassigned_in_a_loop(w):
    a = w.local("a")
    body = (*w.when([Break(1)]), *use(a), *assign(a), *say("turn"))
    one = passed(function(new(a), [Loop(1, body)], say("after")))
    assert trace(one, [0, 1]) == "make a, use a, drop a, make a, say turn, drop a, say after"


def test_reassigned_in_one_branch_of_a_loop_and_never_read(w):
    a = w.local("a")
    body = (*w.when([Break(1)]), *w.when([*assign(a), *say("again")]))
    one = passed(function(new(a), [Loop(1, body)], say("after")))
    assert trace(one, [0, 1, 0, 0, 1]) == "make a, drop a, make a, drop a, say again, say after"


def test_inner_break_to_the_outer_loop(w):
    a, b = w.local("a"), w.local("b")
    inner = Loop(2, (*use(a), *w.when([Break(1)]), *w.when([Break(2)]), *use(b)))
    one = passed(function(new(a), [Loop(1, (*new(b), inner, *say("next")))], say("after")))
    assert trace(one, [0, 0, 1]) == "make a, make b, use a, use b, use a, drop a, drop b, say after"
    assert trace(one, [0, 1, 1]) == "make a, make b, use a, drop b, say next, make b, use a, drop a, drop b, say after"


# ---- errors that are raised ---------------------------------------------------------------------------------


def test_try_and_except(w):
    """`try: x = f(); use(x) except: handler` where f fills x only if it does not raise."""
    a, x = w.local("a"), w.local("x")
    raised, flag = w.ask()
    call = [raised, If(flag, (Break(1),)), *fill(x)]
    guarded = Block(2, (Block(1, (*declare(x), *call, *use(x), *say("fine"), Break(2))), *say("handler"), *use(a)))
    one = passed(function(new(a), [guarded], say("after")))
    assert trace(one, [0]) == "make a, drop a, make x, use x, drop x, say fine, say after"
    assert trace(one, [1]) == "make a, say handler, use a, drop a, say after"


def test_raise_between_init_and_last_use(w):
    x = w.local("x")
    raised, flag = w.ask()
    guarded = Block(1, (*new(x), raised, If(flag, (Break(1),)), *use(x), *say("fine")))
    one = passed(function([guarded], say("after")))
    assert trace(one, [1]) == "make x, drop x, say after"
    assert trace(one, [0]) == "make x, use x, drop x, say fine, say after"


# ---- pointers -----------------------------------------------------------------------------------------------


def test_a_temporary_computed_from_a_local_keeps_it_alive(w):
    a, b = w.local("a"), w.local("b")
    let, pointer = w.peek(at(a), at(b))
    again, inner = w.peek(pointer)
    one = passed(function(new(a), new(b), [let], say("x"), [again], say("y"), use(inner), say("z")))
    assert trace(one) == "make a, make b, say x, say y, use a, drop a, drop b, say z"


def test_a_number_computed_from_a_local_does_not_keep_it_alive(w):
    a = w.local("a")
    number = Temp(w.fresh(), I64)
    one = passed(function(new(a), [Let(number, Call("use", (at(a),), I64))], say("x"), [Return(number)]))
    assert trace(one) == "make a, use a, drop a, say x"


def test_temp_used_in_a_nested_block(w):
    a = w.local("a")
    let, pointer = w.peek(at(a))
    one = passed(function(new(a), [let], w.when([*say("x"), *use(pointer)]), say("y")))
    assert trace(one, [1]) == "make a, say x, use a, drop a, say y"
    assert trace(one, [0]) == "make a, drop a, say y"


def test_pinned_lives_as_long_and_dies_after(w):
    a = w.local("a")
    p = w.local("p", points_to=(a,))
    one = passed(function(new(a), new(p, a), say("x"), use(p), say("y")))
    assert trace(one) == "make a, make p, say x, use p, drop p, drop a, say y"


def test_unused_pointer_is_destroyed_before_what_it_points_to(w):
    a = w.local("a")
    p = w.local("p", points_to=(a,))
    assert trace(passed(function(new(a), new(p, a), say("y")))) == "make a, make p, drop p, drop a, say y"


def test_pins_are_followed_through_other_locals(w):
    a = w.local("a")
    p = w.local("p", drop="", points_to=(a,))
    q = w.local("q", drop="", points_to=(p,))
    one = passed(function(new(a), new(p, a), new(q, p), say("x"), use(q), say("y")))
    assert trace(one) == "make a, make p, make q, say x, use q, drop a, say y"


def test_points_to_all_keeps_every_local_in_scope_and_no_other(w):
    """As in the reference: what is declared in a block inside dies there after its own last use."""
    a, b, inner, late = w.local("a"), w.local("b"), w.local("inner"), w.local("late")
    t = w.local("t", drop="", points_to_all=True)
    body = (*w.when([Break(1)]), *new(inner), *use(inner), *say("body"))
    one = passed(
        function(new(a), new(b), use(b), new(t, a), [Loop(1, body)], new(late), use(late), say("x"), use(t), say("y"))
    )
    assert trace(one, [0, 1]) == (
        "make a, make b, use b, make t, make inner, use inner, drop inner, say body, "
        "make late, use late, say x, alive: a b late t, use t, drop a, drop b, drop late, say y"
    )


def test_pinned_with_a_value_on_some_paths_only_needs_a_flag(w):
    a, t = w.local("a"), w.local("t", drop="", points_to_all=True)
    one = passed(function(declare(a), new(t), w.when(fill(a)), use(t), say("x")))
    assert trace(one, [1]) == "make t, make a, alive: a t, use t, drop a, say x"
    assert trace(one, [0]) == "make t, alive: t, use t, say x"


def test_each_iteration_resets_the_flag(w):
    a, t = w.local("a"), w.local("t", drop="", points_to_all=True)
    body = (*w.when([Break(1)]), *declare(a), *w.when(fill(a)), *use(t), *say("x"))
    one = passed(function(new(t), [Loop(1, body)]))
    assert trace(one, [0, 1, 0, 0, 1]) == "make t, make a, alive: a t, use t, drop a, say x, alive: t, use t, say x"


# ---- fields -------------------------------------------------------------------------------------------------


def test_fields_of_a_partly_moved_value_are_dropped_one_by_one(w):
    """`__del__(deinit self)`: no destructor of the whole; each field goes after its own last use."""
    s = w.pair("s", drop="")
    one = passed(function([Mark("init", s)], say("x")))
    assert [part.value.function for part in one.body if isinstance(part, Let)] == ["drop", "drop", "say x"]
    s = w.pair("s", drop="")
    one = passed(function(new(s), use(at(s, 1)), say("x"), use(at(s, 0)), say("y")))
    assert trace(one) == "make s, use s.1, drop s.1, say x, use s.0, drop s.0, say y"


def test_a_field_moved_and_initialised_again(w):
    s = w.pair("s")
    one = passed(function(new(s), take_field(s, 0), say("x"), assign_field(s, 0), use(s), say("y")))
    assert trace(one) == "make s, take s.0, say x, make s.0, use s, drop s, say y"


def test_field_moved_out_for_good(w):
    s = w.pair("s")
    one = passed(function(new(s), take_field(s, 0), say("x"), use(at(s, 1)), say("y")))
    assert trace(one) == "make s, take s.0, say x, use s.1, drop s.1, say y"


def test_field_moved_out_in_one_branch(w):
    s = w.pair("s")
    one = passed(function(new(s), w.when(take_field(s, 0)), say("x"), use(at(s, 1)), say("y")))
    assert trace(one, [1]) == "make s, take s.0, say x, use s.1, drop s.1, say y"
    assert trace(one, [0]) == "make s, say x, use s.1, drop s.0, drop s.1, say y"


def test_field_written_over_is_dropped_after_its_last_use(w):
    s = w.pair("s")
    one = passed(function(new(s), say("x"), assign_field(s, 0), use(s)))
    assert trace(one) == "make s, drop s.0, say x, make s.0, use s, drop s"


def test_constructor_that_raises_half_way(w):
    s = w.pair("s")
    steps = [*declare(s), *fill_field(s, 0), *w.when([*say("raise"), Return()]), *fill_field(s, 1), *take(s)]
    one = passed(function(steps))
    assert trace(one, [1]) == "make s.0, drop s.0, say raise"
    assert trace(one, [0]) == "make s.0, make s.1, take s"


def test_struct_of_one_field_is_its_field(w):
    s = w.local("s", field_drops=("drop",))
    one = passed(function(new(s), [Let(None, Call("take", (at(s),), VOID)), Mark("consume", s, (0,))], say("x")))
    assert trace(one) == "make s, take s, say x"
    s = w.local("s", drop="", field_drops=("drop",))
    one = passed(function(new(s), use(s), say("x")))
    assert trace(one) == "make s, use s, drop s, say x"


def test_parts_without_destructors_are_our_mistake(w):
    s = w.local("s", type=PAIR)
    one = function(new(s), take_field(s, 0), say("x"))
    with pytest.raises(Bug):
        passed(one)


def test_pointer_to_a_field_keeps_the_field(w):
    s = w.pair("s", drop="")
    let, pointer = w.peek(at(s, 0))
    one = passed(function(new(s), [let], say("x"), use(pointer), say("y")))
    assert trace(one) == "make s, drop s.1, say x, use s.0, drop s.0, say y"
    assert pointer.type is PTR
