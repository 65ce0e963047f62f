"""Decorators, and checks of the form of declarations.

Input: a declaration's info, just made. Output: the same with its facts filled in; mistakes in the sink.
"""

from collections.abc import Collection, Sequence

from ktc.base.editions import Edition
from ktc.base.records import replace
from ktc.diag.codes import Code
from ktc.diag.diagnostic import Diagnostic, Sink
from ktc.diag.source import Source, Span
from ktc.elaborate.model.declarations import FunctionInfo, ModuleInfo, StructInfo
from ktc.elaborate.model.spelling import suggest
from ktc.elaborate.tree import lifecycle
from ktc.syntax import ast

_FUNCTION_DECORATORS = (
    "always_inline", "no_inline", "noinline", "staticmethod", "implicit", "export", "deprecated", "parameter",
    "doc_private", "doc_hidden", "unavailable",
    "override", "compiler", "explicit_destroy", "__llvm_metadata", "__llvm_arg_metadata", "fp_mode",
    "__copy_capture", "__unsafe_disable_nested_origin_exclusivity",
)  # fmt: skip


_STRUCT_DECORATORS = (
    "register_passable", "fieldwise_init", "nonmaterializable", "deprecated", "explicit_destroy",
    "doc_private", "doc_hidden", "no_trivial_register_passable", "export",
)  # fmt: skip


_FOREIGN = {
    "dataclass": "write '@fieldwise_init'", "fieldwise_init": "it stands above a struct",
    "value": "write '@fieldwise_init', and let the struct conform to 'ImplicitlyCopyable' and 'Movable'",
    "inline": "write '@always_inline'", "property": "write a method",
    "classmethod": "write '@staticmethod'", "abstractmethod": "a trait's method has the body '...'",
    **dict.fromkeys(
        ("triton", "cuda", "jit", "njit", "vectorize", "numba", "wp", "ti", "global", "gpu"),
        "a kernel is a plain 'fn'; the launch makes it one",
    ),
    "lru_cache": "write the cache yourself, as a 'Dict'", "functools": "write a function around it",
    **dict.fromkeys(("override", "noncapturing", "adaptive", "inline_always"), "leave it out"),
    "unroll": "write '@parameter' above the loop", "overload": "write several functions with one name",
    "final": "leave it out",
    "parallel": "'parallelize', from 'algorithm', uses the cores",
    "kernel": "a kernel is a plain 'fn'; the launch makes it one", "device": "any 'fn' can be called in a kernel",
}  # fmt: skip


_UNTIL_2025 = {
    "register_passable": "list the trait 'RegisterPassable' or 'TrivialRegisterPassable'",
    "doc_private": "write '@doc_hidden'", "value": "write '@fieldwise_init'",
    "nonmaterializable": "leave it out",
}  # fmt: skip
"""Decorators that edition 2026 does not have."""


_ARGUMENT = "__llvm_arg_metadata"


_LOCATION = "call_location"
"""Text that marks a function that asks for its caller's location."""


CONSTRUCTORS = ("__init__", "__copyinit__", "__moveinit__")


def decorate_function(fn: FunctionInfo, decorator: ast.Decorator, sink: Sink) -> None:
    """Apply a decorator to a function."""
    value, argument = decorator.value, ""
    if isinstance(value, ast.Call):
        if value.args and isinstance(value.args[0], ast.StrLit):
            argument = value.args[0].value
        value = value.func
    while isinstance(value, ast.Attribute):
        value = value.value
    name = value.id if isinstance(value, ast.Name) else ""
    _check_edition(fn, decorator, name, sink)
    match name:
        case "always_inline":
            fn.inline = "builtin" if argument == "builtin" else "always"
            fn.traced = argument not in ("builtin", "nodebug")
            fn.reads_call_location = _asks_where(fn)
            if argument not in ("", "builtin", "nodebug"):
                text = f'\'@always_inline\' takes "nodebug" or "builtin", not "{argument}"'
                sink.report(Diagnostic(Code.SYNTAX_ERROR, _place(fn, decorator), text))
        case "no_inline" | "noinline":
            fn.inline = "never"
        case "staticmethod":
            fn.static = True
            if fn.owner is None and not fn.module.is_library:
                text = "'@staticmethod' is for methods of structs and traits"
                sink.report(Diagnostic(Code.SYNTAX_ERROR, _place(fn, decorator), text, "remove it"))
        case "implicit":
            fn.implicit = True
            fn.is_discouraged = isinstance(decorator.value, ast.Call) and any(
                one.name == "deprecated" and isinstance(one.value, ast.BoolLit) and one.value.value
                for one in decorator.value.keywords
            )
        case "export":
            fn.export = argument or fn.name
            _check_export(fn, decorator, sink)
        case "deprecated":
            fn.deprecated = argument or _replacement(decorator) or fn.name
        case "parameter" | "__parameter" if name == "parameter" or fn.module.edition is Edition.Y2026:
            fn.parameter = True
        case "unavailable":
            fn.unavailable = argument or fn.name
        case "edition" if fn.module.is_library:
            _set_edition(fn, decorator)
        case "__raises" if fn.module.is_library and isinstance(decorator.value, ast.Call):
            fn.node = fn.node.with_error(decorator.value.args[0])  # 'raises T', which edition 2025 cannot say
        case "__unchecked" if fn.module.is_library:
            fn.unchecked = True
        case "__copy_capture":
            fn.copied_captures += decorator.value.args if isinstance(decorator.value, ast.Call) else ()
        case "__llvm_arg_metadata":
            _check_of_argument(fn, decorator, sink)
        case "fp_mode":
            _check_mode(fn, decorator, sink)
        case "register_internal" if _is_of_program(fn.module, name):
            pass  # it names the function for another tool
        case _ if name not in _FUNCTION_DECORATORS:
            _unknown(fn, decorator, name, "functions", _FUNCTION_DECORATORS, sink)


def _check_edition(info: FunctionInfo | StructInfo, decorator: ast.Decorator, name: str, sink: Sink) -> None:
    """Report a decorator that edition 2026 does not have; it means what it did."""
    if name in _UNTIL_2025 and info.module.edition is Edition.Y2026:
        text = f"'@{name}' is not in edition 2026"
        sink.report(Diagnostic(Code.WRONG_EDITION, _place(info, decorator), text, _UNTIL_2025[name]))


def _set_edition(fn: FunctionInfo, decorator: ast.Decorator) -> None:
    """Read `@edition("2026")`, `@edition("2026", name="new")` and `@edition("2026", name="new", keeps=True)`."""
    call = decorator.value
    assert isinstance(call, ast.Call) and isinstance(call.args[0], ast.StrLit), fn.name
    words = {word.name: word.value for word in call.keywords}
    new = words.get("name")
    if not isinstance(new, ast.StrLit):
        fn.edition = Edition(call.args[0].value)
    elif fn.owner is not None:
        fn.owner.names_2026[new.value] = fn.name
        if "keeps" not in words:
            fn.owner.hidden_2026[fn.name] = new.value


def _asks_where(fn: FunctionInfo) -> bool:
    """Return whether a function asks where it is called; the text of a library module is not read to know it."""
    module = fn.module
    if module.is_library and f"__{_LOCATION}" not in module.scope.names:
        return False
    return module.reads_outer_call_location or module.source.text.find(_LOCATION, fn.node.start, fn.node.end) >= 0


def _check_export(fn: FunctionInfo, decorator: ast.Decorator, sink: Sink) -> None:
    """Report words of `@export` that mean nothing: it takes a name and `ABI="C"`."""
    call = decorator.value
    if not isinstance(call, ast.Call) or fn.module.is_library:
        return
    for given in call.args[1:] if call.args and isinstance(call.args[0], ast.StrLit) else call.args:
        at = Span(fn.module.source, given.start, given.end)
        sink.report(Diagnostic(Code.CANNOT_EXPORT, at, "'@export' takes the name that C uses, as a string literal"))
    for word in call.keywords:
        is_known = isinstance(word.value, ast.StrLit) and word.value.value in ("C", "Mojo")
        if word.name != "ABI" or not is_known:
            at = Span(fn.module.source, word.value.start, word.value.end)
            text = f"'@export' has no '{word.name}'" if word.name != "ABI" else 'the ABI of an exported function is "C"'
            sink.report(Diagnostic(Code.CANNOT_EXPORT, at, text, 'write \'@export("name", ABI="C")\''))


def _is_of_program(module: ModuleInfo, name: str) -> bool:
    """Whether a function of a module has a name, or an import brings it."""
    for statement in module.node.body:
        match statement:
            case ast.FunctionDecl(name=found) if found == name:
                return True
            case ast.FromImport(names=names) if any((alias or one) in (name, "*") for one, alias in names):
                return True
            case _:
                pass
    return False


def _check_of_argument(fn: FunctionInfo, decorator: ast.Decorator, sink: Sink) -> None:
    """Report metadata for a name that is no argument; metadata such as `nvvm.grid_constant` holds for all kernels."""
    given = decorator.value.args if isinstance(decorator.value, ast.Call) else ()
    if not given:
        sink.report(Diagnostic(Code.SYNTAX_ERROR, _place(fn, decorator), f"'@{_ARGUMENT}' names an argument"))
    elif not isinstance(given[0], ast.Name) or given[0].id not in [arg.name for arg in fn.node.args]:
        at = Span(fn.module.source, given[0].start, given[0].end)
        sink.report(Diagnostic(Code.UNKNOWN_ARGUMENT, at, f"'@{_ARGUMENT}': '{fn.name}' has no argument of this name"))


def _check_mode(fn: FunctionInfo, decorator: ast.Decorator, sink: Sink) -> None:
    """Report '@fp_mode' without modes, and where a function is no more than its text."""
    place = _place(fn, decorator)
    if not (isinstance(decorator.value, ast.Call) and decorator.value.args):
        text = "'@fp_mode' takes the names of modes, in quotes"
        sink.report(Diagnostic(Code.SYNTAX_ERROR, place, text, "write '@fp_mode(\"approx\")'"))
    calls = [one.value for one in fn.node.decorators if isinstance(one.value, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "always_inline"]
    if any(isinstance(word, ast.StrLit) and word.value == "builtin" for call in named for word in call.args):
        text = "'@fp_mode' has no meaning for a function that is expanded in place"
        sink.report(Diagnostic(Code.UNSUPPORTED, place, text, "leave out '@always_inline(\"builtin\")'"))


def decorate_struct(info: StructInfo, decorator: ast.Decorator, sink: Sink) -> None:
    """Apply a decorator to a struct."""
    value, call = decorator.value, None
    if isinstance(value, ast.Call):
        call, value = value, value.func
    name = value.id if isinstance(value, ast.Name) else ""
    _check_edition(info, decorator, name, sink)
    first = call.args[0] if call and call.args else None
    match name:
        case "register_passable":
            info.register_passable = True
            info.register_trivial = isinstance(first, ast.StrLit) and first.value == "trivial"
        case "fieldwise_init":
            info.fieldwise = True
            info.fieldwise_implicit = isinstance(first, ast.StrLit) and first.value == "implicit"
        case "nonmaterializable":
            info.materialized = first
            if call:
                info.materialized_in_packs = next((k.value for k in call.keywords if k.name == "pack"), first)
        case "deprecated":
            text = first.value if isinstance(first, ast.StrLit) else ""
            info.deprecated = text or _replacement(decorator) or info.name
        case "explicit_destroy":
            info.explicit_destroy = first.value if isinstance(first, ast.StrLit) else ""
        case "export":
            info.is_exported = True
        case "align" if info.module.edition is Edition.Y2026:
            info.alignment = first
            if call is None or len(call.args) != 1 or call.keywords:
                text = "'@align' takes one argument, a number of bytes"
                sink.report(Diagnostic(Code.SYNTAX_ERROR, _place(info, decorator), text, "write '@align(64)'"))
        case "edition" if call is not None and info.module.is_library:
            for word in call.keywords:
                assert isinstance(word.value, ast.StrLit), info.name
                info.names_2026[word.value.value] = word.name
                info.hidden_2026[word.name] = word.value.value
        case "__kept_in_memory" if info.module.is_library:
            info.is_kept_in_memory = True
        case "__further_conformances" if call is not None and info.module.is_library:
            info.further_traits = tuple(one.id for one in call.args if isinstance(one, ast.Name))
        case _ if name not in _STRUCT_DECORATORS and not _is_registration(info, value):
            info.fieldwise = True  # whatever was meant, its fields can be given: one mistake, one message
            _unknown(info, decorator, name, "structs", _STRUCT_DECORATORS, sink)


def _is_registration(info: StructInfo, value: ast.Expr) -> bool:
    """Whether a decorator makes a struct an operator of Python, which reads it itself."""
    from ktc.syntax.registrations import is_registration  # late: only for some programs

    return is_registration(info.module.node, value)


def read_traits(info: StructInfo) -> None:
    """Read the traits of edition 2026 that replace decorators, and the conditions of traits."""
    for node in info.node.traits:
        if isinstance(node, ast.ConditionalTrait):
            name = node.trait.id if isinstance(node.trait, ast.Name) else ""
            if isinstance(node.condition, ast.BoolLit) and not node.condition.value:
                info.is_unmovable |= name == "Movable"
                info.explicit_destroy = "" if name == "Deinitable" else info.explicit_destroy
            elif name:
                info.trait_conditions.setdefault(name, []).append(node.condition)
        elif isinstance(node, ast.Name) and node.id in ("TrivialRegisterPassable", "RegisterPassable"):
            info.register_passable = True
            info.register_trivial |= node.id == "TrivialRegisterPassable"


def check_form(fn: FunctionInfo, sink: Sink) -> None:
    """Check the form of a declaration of the program."""
    source, optional = fn.module.source, False
    outer = set[str]()
    if isinstance(fn.owner, StructInfo) and fn.module.edition is Edition.Y2025:  # 2026 names them `Self.name`
        outer = {param.name for param in fn.owner.node.params}
    seen = check_parameters(fn.node.params, source, sink, outer)
    for arg in fn.node.args:
        if arg.name in seen and arg.name != "_":
            _report_duplicate(arg, "argument", source, sink)
        seen.add(arg.name)
        if arg.convention == "deinit" and (
            fn.owner is None or (arg is not fn.node.args[0] and fn.name != "__moveinit__")
        ):
            text = "only the 'self' of a method can be 'deinit'"
            span = Span(source, arg.start, arg.end)
            sink.report(Diagnostic(Code.SYNTAX_ERROR, span, text, f"write 'var {arg.name}' to take the value"))
        if arg.convention == "out":
            _check_out(fn, arg, sink)
        if arg.convention in ("mut", "ref") and arg.default is not None:
            text = f"argument '{arg.name}' is changed, so it cannot have a default value"
            sink.report(Diagnostic(Code.SYNTAX_ERROR, Span(source, arg.start, arg.end), text))
        if arg.kind in ("pos", "any") and arg.convention != "out":
            if optional and arg.default is None:
                text = f"argument '{arg.name}' needs a default value: the one before it has one"
                sink.report(Diagnostic(Code.SYNTAX_ERROR, Span(source, arg.start, arg.end), text))
            optional = optional or arg.default is not None
    if fn.owner is not None:
        check_method(fn, sink)


def _check_out(fn: FunctionInfo, arg: ast.Param, sink: Sink) -> None:
    """Report a second result: of another 'out', or after '->'."""
    source, text = fn.module.source, ""
    outs = [one for one in fn.node.args if one.convention == "out"]
    if arg is not outs[0]:
        start, end = arg.start, arg.end
        text, help = f"'{fn.name}' has an 'out' argument already", f"write 'mut {arg.name}', or give a Tuple back"
        args = tuple(replace(one, convention="mut") if one is arg else one for one in fn.node.args)
        fn.node = fn.node.with_args(args)  # one mistake, one message
    elif fn.node.result is not None:
        start, end = fn.node.result.start, fn.node.result.end
        text, help = f"the result of '{fn.name}' is its 'out' argument, and it declares another", "remove the '->'"
    if text:
        sink.report(Diagnostic(Code.SYNTAX_ERROR, Span(source, start, end), text, help))


def check_parameters(params: Sequence[ast.Param], source: Source, sink: Sink, outer: Collection[str] = ()) -> set[str]:
    """Report parameters of one name, or of a name of the struct's, and one that must be given after one that need
    not; return all names."""
    seen, optional = set[str](outer), False
    for param in params:
        if param.name in seen and param.name != "_":
            _report_duplicate(param, "parameter", source, sink)
        seen.add(param.name)
        if param.convention:
            text = f"parameter '{param.name}' cannot be '{param.convention}': it is known at compile time"
            span = Span(source, param.start, param.end)
            sink.report(Diagnostic(Code.SYNTAX_ERROR, span, text, f"remove the '{param.convention}'"))
        is_2026 = source.edition is not None and source.edition.edition is Edition.Y2026
        if param.kind == "infer" and param.default is not None and not is_2026:
            text = f"parameter '{param.name}' is inferred, so it cannot have a default value"
            sink.report(Diagnostic(Code.SYNTAX_ERROR, Span(source, param.start, param.end), text))
        if param.kind in ("pos", "any"):
            if optional and param.default is None:
                text = f"parameter '{param.name}' needs a default value: the one before it has one"
                sink.report(Diagnostic(Code.SYNTAX_ERROR, Span(source, param.start, param.end), text))
            optional = optional or param.default is not None
    return seen


def _report_duplicate(param: ast.Param, what: str, source: Source, sink: Sink) -> None:
    span = Span(source, param.start, param.end)
    text = f"the {what} '{param.name}' is declared twice"
    sink.report(Diagnostic(Code.DUPLICATE_DEFINITION, span, text, "choose another name"))


def check_method(fn: FunctionInfo, sink: Sink) -> None:
    """Report a method without `self`, and a constructor without `out self`; go on as if it were there."""
    node, owner = fn.node, fn.owner
    if fn.static or owner is None:
        return
    first = node.args[0] if node.args else None
    if first is None or first.kind not in ("pos", "any", "infer"):
        text = f"the method {fn.title} of '{owner.name}' lacks the argument 'self'"
        sink.report(Diagnostic(Code.MISSING_ARGUMENT, fn.span(), text, "add it, or write '@staticmethod' above"))
        own = ast.Param(node.start, node.start, "self", None, None, "any", "", (), False)
        fn.node = node.with_args((own, *node.args))
    elif first.convention == "out" and node.name not in CONSTRUCTORS:
        meant = next((one for one in CONSTRUCTORS if one.replace("_", "") == node.name.replace("_", "")), "")
        text = f"the method {fn.title} of '{owner.name}' lacks the argument 'self': its first one is its result"
        help = f"rename it to '{meant}'" if meant else "add it, or write '@staticmethod' above"
        sink.report(Diagnostic(Code.MISSING_ARGUMENT, fn.span(), text, help))
        fn.node = node.with_args((replace(first, convention="mut"), *node.args[1:]))
    elif node.name in CONSTRUCTORS and not any(arg.convention == "out" for arg in node.args) and node.result is None:
        span = Span(fn.module.source, first.start, first.end)
        text = f"'{node.name}' must take 'out self': it makes the value"
        sink.report(Diagnostic(Code.SYNTAX_ERROR, span, text, "write 'out self'"))
        fn.node = node.with_args((replace(first, convention="out"), *node.args[1:]))
    lifecycle.check_role(fn, sink)


def _replacement(decorator: ast.Decorator) -> str:
    """Read `@deprecated(use=other)`."""
    call = decorator.value
    names = [k.value.id for k in call.keywords if isinstance(k.value, ast.Name)] if isinstance(call, ast.Call) else []
    return f"use '{names[0]}' instead" if names else ""


def _unknown(
    info: FunctionInfo | StructInfo, decorator: ast.Decorator, name: str, of: str, known: tuple[str, ...], sink: Sink
) -> None:
    text = f"the decorator '@{name or '…'}' is not known for {of}"
    help = _FOREIGN.get(name) or suggest(name, [one for one in known if one != "noinline"]).replace("'", "'@", 1)
    sink.report(Diagnostic(Code.UNSUPPORTED, _place(info, decorator), text, help))


def _place(info: FunctionInfo | StructInfo, decorator: ast.Decorator) -> Span:
    return Span(info.module.source, decorator.start, decorator.end)
