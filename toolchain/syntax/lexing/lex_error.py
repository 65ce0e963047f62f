"""Syntax errors that the lexer, the parser and the builders find; the parser makes diagnostics of them."""

from ktc.diag.codes import Code


class LexError(Exception):
    """The text cannot be cut into tokens; what to report."""

    def __init__(self, code: Code, start: int, end: int, message: str, help: str = "") -> None:
        super().__init__(message)
        self.code, self.start, self.end, self.message, self.help = code, start, end, message, help
        self.fatal = False  # the rest of the file cannot be read
        self.line = 0  # where its statement starts
        self.joined: list[int] = []  # where lines before it start that continue a statement
        self.index, self.noticed, self.missing = -1, 0, ""  # the token that does not fit, and where; what is missing
