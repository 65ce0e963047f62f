"""The parse tables: `grammar/kpy.lark` goes in, plain data for the driver in `parser` comes out.

Lark reads the grammar and computes the LALR(1) automaton; what is kept of it is dictionaries of small integers that
`marshal` writes and reads in a millisecond or two. So Lark is imported only when the grammar has changed.
"""

import hashlib
import marshal
import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

from ktc.base.records import entity
from ktc.diag.diagnostic import Bug

# How a rule makes its value.
UNIT = 0  # the value of its only child, nothing to do
LIST = 1  # a list of the children, spliced into the parent
CALL = 2  # the builder's method of that name, all symbols are children
PICK = 3  # the builder's method, some symbols are left out or spliced
CHILD = 4  # the value of one child among left-out symbols


class Store(Protocol):
    """The part of a cache that the parser needs."""

    def get(self, key: str) -> bytes | None:
        """Return the data under this key, or None."""

    def put(self, key: str, data: bytes) -> None:
        """Keep data under a key."""


@entity
class Tables:
    """A LALR(1) automaton.

    Args:
        digest: of the grammar text.
        terminals: names by number; `$END` is one of them.
        words: quoted tokens of the grammar, text to terminal number.
        actions: for each state, terminal to action: n >= 0 shifts and goes to state n, n < 0 reduces rule ~n.
        gotos: for each state, non-terminal to state.
        rules: (left side, length, kind, method name, children as (position, splice)).
        starts: start symbol to (first state, accepting state).
    """

    digest: str
    terminals: list[str]
    words: dict[str, int]
    actions: list[dict[int, int]]
    gotos: list[dict[int, int]]
    rules: list[tuple[int, int, int, str, tuple[tuple[int, bool], ...]]]
    starts: dict[str, tuple[int, int]]

    def number(self, terminal: str) -> int:
        """Return the number of a terminal."""
        return self.terminals.index(terminal)


def grammar_text() -> str:
    """Return the text of the grammar."""
    with open(
        os.path.join(os.path.dirname(str(import_module("ktc.grammar").__file__)), "kpy.lark"), encoding="utf-8"
    ) as file:
        return file.read()


def load_tables(cache: Store | None) -> Tables:
    """Return the tables, from the cache if they are there."""
    text = grammar_text()
    digest = hashlib.sha256(text.encode()).hexdigest()
    # A grammar has one LALR(1) automaton, so Lark's version (30 ms to find out) is no part of the key.
    key = hashlib.sha256(f"grammar tables 1 {digest}".encode()).hexdigest()
    data = cache.get(key) if cache is not None else None
    if data is not None:
        try:
            return Tables(digest, *marshal.loads(data))
        except (ValueError, EOFError, TypeError):
            pass  # a damaged entry is a miss
    tables = _build(text, digest)
    if cache is not None:
        parts = (tables.terminals, tables.words, tables.actions, tables.gotos, tables.rules, tables.starts)
        cache.put(key, marshal.dumps(parts))
    return tables


def _build(text: str, digest: str) -> Tables:
    """Let Lark compute the automaton and renumber it."""
    import lark  # late: only after a cache miss
    from lark.lexer import Lexer  # late: only after a cache miss

    class NoLexer(Lexer):
        """The grammar has no tokens of its own to read; see `lexer`."""

        def __init__(self, _conf: Any) -> None:
            pass

        def lex(self, _lexer_state: Any, _parser_state: Any) -> Iterator[Any]:
            raise Bug("Lark's lexer is not used", "syntax")

    built = lark.Lark(text, parser="lalr", lexer=NoLexer, start=["file", "field"], maybe_placeholders=False)
    table = built.parser.parser._parse_table
    states = sorted(table.states)
    number = {state: index for index, state in enumerate(states)}
    names = sorted({str(name) for row in table.states.values() for name in row})
    terminals = [name for name in names if name.isupper() or name == "$END"]
    nonterminals = [name for name in names if name not in set(terminals)]
    terminal_number = {name: index for index, name in enumerate(terminals)}
    nonterminal_number = {name: index for index, name in enumerate(nonterminals)}
    rules: list[Any] = []
    rule_number: dict[Any, int] = {}
    actions: list[dict[int, int]] = []
    gotos: list[dict[int, int]] = []
    for state in states:
        acts, goto = {}, {}
        for name, (action, argument) in sorted(table.states[state].items()):
            if name in nonterminal_number:
                goto[nonterminal_number[name]] = number[argument]
            elif action.name == "Shift":
                acts[terminal_number[name]] = number[argument]
            else:
                if argument not in rule_number:
                    rule_number[argument] = len(rules)
                    rules.append(_rule(argument, nonterminal_number))
                acts[terminal_number[name]] = ~rule_number[argument]
        actions.append(acts)
        gotos.append(goto)
    words = {str(t.pattern.value): terminal_number[t.name] for t in built.terminals if t.name in terminal_number}
    starts = {name: (number[table.start_states[name]], number[table.end_states[name]]) for name in table.start_states}
    return Tables(digest, terminals, words, actions, gotos, rules, starts)


def _rule(rule: Any, numbers: dict[str, int]) -> tuple[int, int, int, str, tuple[tuple[int, bool], ...]]:
    """Return a row of `Tables.rules` for one of Lark's rules."""
    children = []
    for position, symbol in enumerate(rule.expansion):
        if symbol.is_term and (symbol.filter_out or symbol.name.startswith("_")):
            continue
        children.append((position, not symbol.is_term and symbol.name.startswith("_")))
    left, size, name = rule.origin.name, len(rule.expansion), rule.alias or rule.origin.name
    if left.startswith("_"):
        kind = LIST
    elif rule.options.expand1 and not rule.alias and len(children) == 1 and not children[0][1]:
        kind = UNIT if size == 1 else CHILD
    elif len(children) == size and not any(splice for _, splice in children):
        kind = CALL
    else:
        kind = PICK
    return numbers[left], size, kind, str(name), tuple(children)
