"""The closed set of diagnostic ids, each with a one-line title."""

from enum import Enum


class Code(Enum):
    """A kind of mistake: (id, title). The id is kebab-case and never changes its meaning."""

    # reading files
    FILE_ERROR = ("file-error", "a file cannot be read or written")
    NOT_UTF8 = ("not-utf8", "a source file is not UTF-8 text")
    MODULE_NOT_FOUND = ("module-not-found", "an imported module does not exist")
    NAME_NOT_IN_MODULE = ("name-not-in-module", "a module has no such name")
    # syntax
    SYNTAX_ERROR = ("syntax-error", "the text is not a program")
    UNCLOSED_BRACKET = ("unclosed-bracket", "a bracket is opened and never closed")
    BAD_INDENT = ("bad-indent", "a line is indented in an unexpected way")
    BAD_LITERAL = ("bad-literal", "a number or string is not well formed")
    TOO_DEEP = ("too-deep", "brackets or blocks are nested too deeply")
    # names
    UNDEFINED_NAME = ("undefined-name", "a name is not defined")
    DUPLICATE_DEFINITION = ("duplicate-definition", "a name is defined twice")
    NO_MEMBER = ("no-member", "a type has no such member")
    # types and calls
    TYPE_MISMATCH = ("type-mismatch", "a value has another type than the place needs")
    MISSING_ARGUMENT = ("missing-argument", "a call leaves out an argument")
    TOO_MANY_ARGUMENTS = ("too-many-arguments", "a call has more arguments than the function takes")
    UNKNOWN_ARGUMENT = ("unknown-argument", "a call names an argument that does not exist")
    NO_MATCHING_CALL = ("no-matching-call", "no overload takes these arguments")
    AMBIGUOUS_CALL = ("ambiguous-call", "several overloads fit equally well")
    PARAMETER_COUNT = ("parameter-count", "too few or too many compile-time parameters")
    CANNOT_INFER = ("cannot-infer", "a compile-time parameter cannot be inferred")
    NOT_CALLABLE = ("not-callable", "something that is not a function is called")
    BEYOND_BOUND = ("beyond-bound", "a generic body uses what the bound of its type parameter does not promise")
    TRAIT_NOT_MET = ("trait-not-met", "a type lacks what a trait asks for")
    RAISES = ("raises", "a call may raise where nothing may raise")
    IMMUTABLE = ("immutable", "something that may not change is changed")
    ALIASING = ("aliasing", "a call changes a value that another of its arguments is")
    ESCAPING_REFERENCE = ("escaping-reference", "a reference outlives the variable that it points into")
    RECURSIVE_STRUCT = ("recursive-struct", "a struct holds a value of its own type")
    RETURN_TYPE = ("return-type", "a function returns something else than it says")
    # ownership
    UNINITIALIZED = ("uninitialized", "a value is used before it has been given or after it was moved away")
    NOT_DESTROYED = ("not-destroyed", "a value that must be destroyed by a call is not consumed on every way")
    NOT_COPYABLE = ("not-copyable", "a value of this type cannot be copied implicitly")
    # compile time
    NOT_COMPILE_TIME = ("not-compile-time", "a value is needed at compile time and known only at run time")
    CONSTRAINT_FAILED = ("constraint-failed", "a compile-time constraint does not hold")
    COMPILE_TIME_LIMIT = ("compile-time-limit", "compile-time evaluation took too many steps or too much memory")
    COMPILE_TIME_FAILED = ("compile-time-failed", "compile-time evaluation failed")
    INSTANTIATION_DEPTH = ("instantiation-depth", "a parametric function instantiates itself without end")
    # targets and kernels
    UNKNOWN_TARGET = ("unknown-target", "there is no such target")
    UNSUPPORTED_ON_TARGET = ("unsupported-on-target", "the target cannot do this")
    BAD_KERNEL = ("bad-kernel", "a function cannot be a kernel")
    KERNEL_ARGUMENT = ("kernel-argument", "an argument does not fit the kernel's declaration")
    # the rest
    UNSUPPORTED = ("unsupported", "ktc does not do this yet")
    MAIN = ("main", "the program has no main function, or one of the wrong shape")
    LINK = ("link", "the executable could not be linked")
    # warnings
    UNUSED_VALUE = ("unused-value", "the value of an expression is not used")
    UNUSED_VARIABLE = ("unused-variable", "a variable is never read")
    UNUSED_ASSIGNMENT = ("unused-assignment", "a variable gets a value that nobody reads")
    UNUSED_IMPORT = ("unused-import", "an imported name is never used")
    NEVER_ASSIGNED = ("never-assigned", "a variable is declared and never gets a value")
    SHADOWING = ("shadowing", "a variable hides another one of the same function")
    UNREACHABLE_CODE = ("unreachable-code", "statements that nothing ever reaches")
    CONSTANT_CONDITION = ("constant-condition", "a condition is always the same")
    COROUTINE_KERNEL = ("coroutine-kernel", "a kernel of the CPU device could not be cut into loops over its threads")
    DEPRECATED = ("deprecated", "a declaration is marked as deprecated")

    @property
    def is_warning(self) -> bool:
        """Is it about a program that compiles all the same."""
        return self in _WARNINGS

    @property
    def id(self) -> str:
        """The kebab-case id."""
        return self.value[0]

    @property
    def title(self) -> str:
        """One line, lower case."""
        return self.value[1]


_WARNINGS = frozenset((
    Code.UNUSED_VALUE, Code.UNUSED_VARIABLE, Code.UNUSED_ASSIGNMENT, Code.UNUSED_IMPORT, Code.NEVER_ASSIGNED,
    Code.SHADOWING, Code.UNREACHABLE_CODE, Code.CONSTANT_CONDITION, Code.DEPRECATED, Code.COROUTINE_KERNEL,
))  # fmt: skip

OFF_BY_DEFAULT = frozenset((Code.COROUTINE_KERNEL,))
"""Warnings that are shown only to those who ask: nothing is wrong with the program."""
