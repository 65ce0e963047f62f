"""The closed set of diagnostic ids, each with a one-line title."""

from enum import Enum


class Code(Enum):
    """A kind of mistake: (id, title). The id is kebab-case and never changes its meaning."""

    # reading files
    FILE_ERROR = ("file-error", "a file cannot be read or written")
    INVALID_UTF8 = ("invalid-utf8", "a source file is not UTF-8 text")
    INVALID_PROJECT = ("invalid-project", "the table [tool.ktc] of a project has a mistake")
    MODULE_NOT_FOUND = ("module-not-found", "an imported module does not exist")
    UNRESOLVED_IMPORT = ("unresolved-import", "an imported name does not exist in its module")
    # syntax
    SYNTAX_ERROR = ("syntax-error", "the text does not follow the grammar")
    UNCLOSED_BRACKET = ("unclosed-bracket", "a bracket is opened and never closed")
    INDENTATION_ERROR = ("indentation-error", "a line has an unexpected indentation")
    INVALID_LITERAL = ("invalid-literal", "a number or string is not well formed")
    WRONG_EDITION = ("wrong-edition", "a form or a setting is of another edition of the language")
    NESTING_LIMIT = ("nesting-limit", "brackets or blocks are nested too deeply")
    # names
    UNDEFINED_NAME = ("undefined-name", "a name is not defined")
    DUPLICATE_DEFINITION = ("duplicate-definition", "a name is defined twice")
    NO_MEMBER = ("no-member", "a type has no such member")
    # types and calls
    TYPE_MISMATCH = ("type-mismatch", "a value has a different type than expected")
    MISSING_ARGUMENT = ("missing-argument", "a call leaves out an argument")
    TOO_MANY_ARGUMENTS = ("too-many-arguments", "a call has more arguments than the function takes")
    UNKNOWN_ARGUMENT = ("unknown-argument", "a call names an argument that does not exist")
    NO_MATCHING_OVERLOAD = ("no-matching-overload", "no overload accepts these arguments")
    AMBIGUOUS_CALL = ("ambiguous-call", "several overloads fit equally well")
    WRONG_PARAMETER_COUNT = ("wrong-parameter-count", "too few or too many compile-time parameters")
    CANNOT_INFER_PARAMETER = ("cannot-infer-parameter", "a compile-time parameter cannot be inferred")
    NOT_CALLABLE = ("not-callable", "something that is not a function is called")
    MISSING_TRAIT_BOUND = ("missing-trait-bound", "a generic body uses what no trait of the parameter's bound declares")
    UNSATISFIED_TRAIT = ("unsatisfied-trait", "a type does not conform to a trait")
    UNHANDLED_RAISE = ("unhandled-raise", "a call may raise, and nothing handles the error")
    CANNOT_MUTATE = ("cannot-mutate", "something immutable is changed")
    CANNOT_MOVE = ("cannot-move", "a value cannot be moved from where it is")
    CONFLICTING_ACCESS = ("conflicting-access", "a call changes a value that it also gets through another argument")
    DANGLING_REFERENCE = ("dangling-reference", "a reference outlives the variable that it points into")
    RECURSIVE_STRUCT = ("recursive-struct", "a struct holds a value of its own type")
    MISSING_RETURN = ("missing-return", "a function that declares a result can end without returning one")
    UNDECLARED_RESULT = ("undeclared-result", "a function that declares no result returns a value")
    # ownership
    UNINITIALIZED = ("uninitialized", "a value is used before it is initialized or after it is moved")
    UNCONSUMED_VALUE = ("unconsumed-value", "a value that must be consumed by a call is not consumed on every path")
    NOT_COPYABLE = ("not-copyable", "a value of this type cannot be copied implicitly")
    # compile time
    NON_CONSTANT_VALUE = ("non-constant-value", "a value is needed at compile time but known only at run time")
    UNSATISFIED_CONSTRAINT = ("unsatisfied-constraint", "a compile-time constraint does not hold")
    COMPILE_TIME_EVALUATION_LIMIT = (
        "compile-time-evaluation-limit",
        "compile-time evaluation took too many steps or too much memory",
    )
    COMPILE_TIME_EVALUATION_FAILED = ("compile-time-evaluation-failed", "compile-time evaluation failed")
    INSTANTIATION_LIMIT = ("instantiation-limit", "a parametric function instantiates itself without end")
    # targets and kernels
    UNKNOWN_TARGET = ("unknown-target", "there is no such target")
    UNSUPPORTED_ON_TARGET = ("unsupported-on-target", "the target does not support this")
    INVALID_KERNEL = ("invalid-kernel", "a function cannot be a kernel")
    KERNEL_ARGUMENT_MISMATCH = ("kernel-argument-mismatch", "an argument does not fit the kernel's declaration")
    # the rest
    UNSUPPORTED = ("unsupported", "ktc does not support this yet")
    MISSING_MAIN = ("missing-main", "the program has no main function")
    INVALID_MAIN = ("invalid-main", "the main function has arguments, parameters or a result")
    CANNOT_EXPORT = ("cannot-export", "a function cannot be called from C")
    LINK_FAILED = ("link-failed", "the executable could not be linked")
    # warnings
    UNUSED_VALUE = ("unused-value", "the value of an expression is not used")
    UNUSED_VARIABLE = ("unused-variable", "a variable is never read")
    UNUSED_ASSIGNMENT = ("unused-assignment", "the value given to a variable is never read")
    UNUSED_IMPORT = ("unused-import", "an imported name is never used")
    NEVER_ASSIGNED = ("never-assigned", "a variable is declared and never gets a value")
    SHADOWING = ("shadowing", "a variable hides another one of the same function")
    UNREACHABLE_CODE = ("unreachable-code", "statements that are never reached")
    CONSTANT_CONDITION = ("constant-condition", "a condition is always the same")
    COROUTINE_KERNEL = ("coroutine-kernel", "a kernel of the CPU device could not be cut into loops over its threads")
    LAUNCH_LIMITS = ("launch-limits", "a launch that no GPU of the build takes")
    DEVICE_HEAP = ("device-heap", "a kernel takes memory from the GPU's heap")
    DEPRECATED = ("deprecated", "a declaration is marked as deprecated")

    @property
    def is_warning(self) -> bool:
        """Return whether it is a warning."""
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
    Code.LAUNCH_LIMITS, Code.DEVICE_HEAP,
))  # fmt: skip

OFF_BY_DEFAULT = frozenset((Code.COROUTINE_KERNEL,))
"""Warnings that are shown only to those who ask: nothing is wrong with the program."""
