"""Which leaves of a statement have a space before them, and where a statement may be split."""

from ktc.formatting.leaves import DEFINITIONS, Leaf, Statement

COMMA, COMPREHENSION, TERNARY, LOGIC, STRINGS, COMPARISON, DOT = 18, 20, 16, 14, 12, 10, 1
_ARITHMETIC = {
    "|": 9, "^": 8, "&": 7, "<<": 6, ">>": 6, "+": 5, "-": 5, "*": 4, "/": 4, "//": 4, "%": 4, "@": 4, "**": 2,
}  # fmt: skip
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))
_HEADS = frozenset((*DEFINITIONS, "struct", "trait", "alias", "comptime"))
_CONVENTIONS = ("deinit", "mut", "out", "owned", "read")
"""Words that are keywords in front of an argument and names elsewhere."""
_TIGHT = ("def", "abi")
"""Words with their brackets behind them, without a space: `def(Int) -> Int`."""
_OPERANDS = ("name", "number", "string", "close", "transfer")


def arrange(statement: Statement) -> None:
    """Set `space`, `split` and `is_after` of a statement's leaves."""
    if not statement.is_comment:
        _Arranger(statement).run()


class _Bracket:
    """The tokens seen since a bracket, or in it since its last comma."""

    def __init__(self, text: str, holds_parameters: bool, start: int) -> None:
        self.text, self.holds_parameters = text, holds_parameters
        self.start = start  # of the item
        self.is_typed = self.is_comprehension = self.is_spaced = False


class _Arranger:
    """Goes over the leaves of one statement."""

    def __init__(self, statement: Statement) -> None:
        self.leaves = [leaf for leaf in statement.leaves if leaf.kind != "comment"]
        self.statement = statement
        self.stack = [_Bracket("", False, 0)]

    def run(self) -> None:
        """Arrange every leaf after the first."""
        for index, leaf in enumerate(self.leaves):
            top = self.stack[-1]
            if leaf.text in _CONVENTIONS and not top.holds_parameters and self._is_operand(index):
                leaf.kind = "name"
            if index:
                leaf.space = self._space(index, self.leaves[index - 1], leaf)
                self._split(index, leaf)
            if leaf.kind == "open":
                self.stack.append(_Bracket(leaf.text, self._holds_parameters(index), index + 1))
                self.stack[-1].is_spaced = leaf.text == "[" and not self.stack[-1].holds_parameters
            elif leaf.kind == "close":
                self.stack.pop()
            elif leaf.text == ",":
                top.is_typed, top.start = False, index + 1
            elif leaf.text == ":" and leaf.kind == "op":
                top.is_typed = True
            elif leaf.text == "for" and leaf.kind == "word" and index:
                top.is_comprehension = True

    def _is_operand(self, index: int) -> bool:
        """Return whether an operator, a bracket, a comma or nothing follows."""
        return index + 1 == len(self.leaves) or self.leaves[index + 1].kind in ("op", "open", "close")

    def _holds_parameters(self, index: int) -> bool:
        """Return whether a bracket opens the parameters or the arguments of a declaration or a function type."""
        back = index - 1
        while back > 0 and self.leaves[back].kind == "close":
            mate = self.leaves[back].mate
            back = self.leaves.index(mate) - 1 if mate is not None else back - 1
        if back < 0:
            return False
        leaf = self.leaves[back]
        if leaf.kind == "word":
            return leaf.text in DEFINITIONS
        return leaf.kind == "name" and back > 0 and self.leaves[back - 1].text in _HEADS

    def _space(self, index: int, before: Leaf, leaf: Leaf) -> bool:
        """Return whether a space stands between two leaves."""
        if before.kind == "open" or leaf.kind == "close" or leaf.text in (",", ";") or leaf.kind == "transfer":
            return False
        if leaf.kind == "op" and leaf.text == ":":
            return self._colon(index, before_colon=True)
        if before.kind == "op" and before.text == ":":
            return self._colon(index - 1, before_colon=False)
        if leaf.kind == "open":
            return self._opening(before, leaf)
        if leaf.kind == "op" and leaf.text in (".", "..."):
            return before.kind == "word"
        if before.kind == "op":
            return self._after_operator(index, before, leaf)
        if leaf.kind == "op":
            return self._around(index, leaf)
        return True

    def _opening(self, before: Leaf, leaf: Leaf) -> bool:
        if before.kind == "op":
            return self._after_operator(self.leaves.index(leaf), before, leaf)
        if before.kind == "word":
            return not (before.text in _TIGHT or (before.text in DEFINITIONS and leaf.text == "["))
        return leaf.text == "{" and before.kind != "transfer"

    def _after_operator(self, index: int, before: Leaf, leaf: Leaf) -> bool:
        """Return whether a space stands after an operator."""
        if before.text in (".", "..."):
            return leaf.text == "import"
        if before.text == "@" and index == 1:
            return False
        if before.text in ("+", "-", "~", "*", "**") and self._is_prefix(index - 1):
            return False
        return self._around(index - 1, before)

    def _is_prefix(self, index: int) -> bool:
        """Return whether an operator has no left operand."""
        if index == 0:
            return True
        before = self.leaves[index - 1]
        return before.kind not in _OPERANDS

    def _around(self, index: int, leaf: Leaf) -> bool:
        """Return whether an operator has spaces around it."""
        if leaf.text == "=" and len(self.stack) > 1:
            return self.stack[-1].is_typed and self.stack[-1].holds_parameters
        if leaf.text == "**" and not self._is_prefix(index):
            return not (self._is_simple_left(index - 1) and self._is_simple_right(index + 1))
        return True

    def _is_simple_left(self, index: int) -> bool:
        """Return whether the operand that ends here is a name, a number, or names with dots."""
        while True:
            if self.leaves[index].kind not in ("name", "number"):
                return False
            if index < 1 or self.leaves[index - 1].text != ".":
                return True
            index -= 2
            if index < 0:
                return False

    def _is_simple_right(self, index: int) -> bool:
        """Say the same of the operand that starts here; it may have a sign."""
        leaves = self.leaves
        if leaves[index].text in ("-", "+", "~"):
            index += 1
        while index < len(leaves) and leaves[index].kind in ("name", "number"):
            index += 1
            if index >= len(leaves) or leaves[index].text != ".":
                return index >= len(leaves) or leaves[index].text not in ("(", "[")
            index += 1
        return False

    def _colon(self, index: int, before_colon: bool) -> bool:
        """Return whether a space stands before or after a colon: in slices on both sides or on none."""
        top = self.stack[-1]
        if not (top.text == "[" and not top.holds_parameters):
            return not before_colon
        neighbour = self.leaves[index - 1 if before_colon else index + 1]
        if neighbour.text in (":", ",") or neighbour.kind in ("open" if before_colon else "close",):
            return neighbour.text == "," and before_colon
        return self._is_complex(top.start)

    def _is_complex(self, start: int) -> bool:
        """Return whether a part of the slice that starts here is more than a name or a number with a sign."""
        has_operand = False
        for leaf in self.leaves[start:]:
            if leaf.text == "," or leaf.kind == "close":
                return False
            if leaf.text == ":":
                has_operand = False
            elif leaf.kind in ("name", "number", "string") and not has_operand:
                has_operand = True
            elif leaf.text not in ("-", "+", "~") or has_operand:
                return True
        return False

    def _split(self, index: int, leaf: Leaf) -> None:
        """Set the priority of a split at a leaf."""
        before, text = self.leaves[index - 1], leaf.text
        following = self.leaves[index + 1].text if index + 1 < len(self.leaves) else ","
        if text == "," and leaf.kind == "op":
            # A mark stays with the parameters that it follows, and the targets of a comprehension are no items.
            if following != "//" and not (self.stack[-1].is_comprehension and self._is_loop(index)):
                leaf.split, leaf.is_after = COMMA, True
        elif leaf.kind == "word":
            leaf.split = self._word_split(index, before, leaf)
        elif leaf.kind == "string" and before.kind == "string":
            leaf.split = STRINGS
        elif leaf.kind == "op" and text in _COMPARISONS:
            leaf.split = COMPARISON
        elif leaf.kind == "op" and text in _ARITHMETIC and not self._is_prefix(index):
            if following not in (",", ")", "]"):  # a mark between parameters
                leaf.split = _ARITHMETIC[text]
        elif text == "." and leaf.kind == "op" and before.kind == "close":
            leaf.split = DOT

    def _word_split(self, index: int, before: Leaf, leaf: Leaf) -> int:
        top = self.stack[-1]
        if leaf.text in ("and", "or"):
            return LOGIC
        if leaf.text == "for" and len(self.stack) > 1:
            return COMPREHENSION
        if leaf.text in ("if", "else") and self.leaves[-1] is not leaf:
            if index == 1 and before.text == "comptime":
                return 0
            return COMPREHENSION if top.is_comprehension else TERNARY
        if leaf.text in ("in", "is"):
            return 0 if before.text == "not" or self._is_loop(index) else COMPARISON
        if leaf.text == "not" and index + 1 < len(self.leaves) and self.leaves[index + 1].text == "in":
            return COMPARISON
        return 0

    def _is_loop(self, index: int) -> bool:
        """Return whether `in` belongs to a `for` on the same level."""
        depth = 0
        for leaf in reversed(self.leaves[:index]):
            depth += (leaf.kind == "close") - (leaf.kind == "open")
            if depth < 0:
                return False
            if depth == 0 and leaf.kind == "word":
                if leaf.text == "for":
                    return True
                if leaf.text in ("in", "if", "else"):
                    return False
        return False
