"""The primitives that ask the compiler: about types, functions, parameters, the build and the source."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ktc.diag.codes import Code
from ktc.elaborate.builder import call_locations, ir_values, materialization
from ktc.elaborate.generics import archetypes
from ktc.elaborate.instances import function_instances
from ktc.elaborate.model.errors import ErrorReported
from ktc.elaborate.model.instance import Symbolic
from ktc.elaborate.model.spelling import conversion_help
from ktc.elaborate.model.types import (
    ConstValue,
    FunctionTy,
    FunctionValue,
    OriginValue,
    ParameterPack,
    PrimTy,
    StructTy,
    TraitTy,
    show,
)
from ktc.elaborate.model.values import PackValue, Place, Result, RValue
from ktc.elaborate.primitives import linkage_names, names_2026
from ktc.elaborate.primitives.use import Use, comptime_str
from ktc.elaborate.resolve import modules
from ktc.elaborate.resolve.hints import kernel_argument_hint
from ktc.elaborate.types import primitive_types, struct_members, struct_types, type_printer, type_relations
from ktc.elaborate.types.struct_types import erase
from ktc.ir import nodes, types

Handler = Callable[[Use], Result]


def _size_of(use: Use) -> Result:
    return use.index(types.size_of(struct_types.ir_type(use.elab, use.type_of("type"))))


def _align_of(use: Use) -> Result:
    return use.index(types.align_of(struct_types.ir_type(use.elab, use.type_of("type"))))


def _is_trivial(use: Use) -> Result:
    return use.truth(struct_types.is_trivial(use.elab, use.type_of("type")))


def _moves_plainly(use: Use) -> Result:
    return use.truth(struct_types.moves_plainly(use.elab, use.type_of("type")))


def _type_eq(use: Use) -> Result:
    return use.truth(type_relations.same_type(use.elab, use.type_of("a"), use.type_of("b")))


def _type_rebinds(use: Use) -> Result:
    a, b = use.type_of("a"), use.type_of("b")
    return use.truth(type_relations.same_type(use.elab, a, b, is_mutability_free=True))


def _type_identical(use: Use) -> Result:
    return use.truth(use.type_of("a") == use.type_of("b"))


def _is_held(use: Use) -> Result:
    value, by = use.type_of("type"), use.type_of("by")
    return use.truth(
        isinstance(value, PrimTy) and isinstance(by, StructTy) and struct_types.base_prim(use.elab, by) is value
    )


def _conforms(use: Use) -> Result:
    trait = use.type_of("trait")
    if not isinstance(trait, TraitTy):
        use.mismatch("attribute 'trait' must be a trait")
    return use.truth(struct_members.conforms(use.elab, use.type_of("type"), trait))


def _downcast(use: Use) -> Result:
    """Return the type itself, of which a generic body then knows more."""
    ty, trait = use.type_of("type"), use.type_of("trait")
    if not isinstance(trait, TraitTy):
        use.mismatch("attribute 'trait' must be a trait")
    if isinstance(ty, StructTy) and ty.info.bound is not None:
        return archetypes.narrowed(use.elab, ty, trait)
    return ty


def _type_name(use: Use) -> Result:
    return use.string(type_printer.type_name(use.elab, use.type_of("type")))


def _qualified_name(use: Use) -> Result:
    return use.string(type_printer.qualified_name(use.elab, use.type_of("type"), use.flag("builtins")))


def _name_2026(use: Use) -> Result:
    named = names_2026.qualified if use.flag("whole") else names_2026.unqualified
    return use.string(named(use.elab, use.type_of("type")))


def _func_name(use: Use) -> Result:
    return use.string(str(use.function()))


def _linkage_name(use: Use) -> Result:
    return use.string(linkage_names.linkage_name(use.elab, use.function()))


def _func_fits(use: Use) -> Result:
    expected = use.type_of("type")
    if not isinstance(expected, FunctionTy):
        use.mismatch("attribute 'type' must be a function's type")
    return use.truth(function_instances.instance_as(use.elab, use.function(), expected) is not None)


def _module_functions(use: Use) -> Result:
    return use.index(len(modules.functions_in(use.elab, use.text("file"))))


def _module_function(use: Use) -> Result:
    functions = modules.functions_in(use.elab, use.text("file"))
    return FunctionValue(functions[member(use, len(functions))])


def _pack_size(use: Use) -> Result:
    value = use.attr("types")
    return use.index(len(value.items if isinstance(value, PackValue) else use.items("types")))


def _pack_indices(use: Use) -> Result:
    kind = use.type_of("type")
    return ParameterPack(tuple(ConstValue(kind, index) for index in range(len(use.items("types")))))


def member(use: Use, count: int) -> int:
    """Return the attribute `index`, which must be that of one of `count` members."""
    index = use.number("index")
    if not 0 <= index < count:
        use.fail(Code.UNSATISFIED_CONSTRAINT, f"there is no member {index} among {count}")
    return index


def _variadic_get(use: Use) -> Result:
    values = use.items("values")
    return values[member(use, len(values))]


def _pack_get(use: Use) -> Result:
    if isinstance(use.args[0], PackValue):
        items = use.args[0].items
        return items[member(use, len(items))]
    value = use.val(0)
    prim = use.prim(value.ty)
    if prim is None or prim.name not in ("!kgen.pack", "!kgen.refs"):
        use.mismatch(
            f"operand 1 has the type '{type_printer.type_name(use.elab, value.ty)}', not '!kgen.pack' or '!kgen.refs'"
        )
    pack = prim.args[0]
    assert isinstance(pack, ParameterPack)
    members = use.elab.types.members_of(pack)
    at = member(use, len(members))
    if prim.name == "!kgen.refs":
        refs = ir_values.rvalue(use.body, value)
        return Place(members[at], refs if len(members) == 1 else use.op("get", (refs,), None, at), True)
    place = materialization.as_place(use.body, value)
    kind, indices = erase([struct_types.ir_type(use.elab, member) for member in members])
    pointer = place.pointer
    if indices[at] >= 0:
        pointer = use.op("field", (pointer,), None, (kind, indices[at]))
    # the members share the fate of the whole: only the first two steps of a path are distinguished
    path = (*(place.path or (0,)), at) if place.local is not None else ()
    return Place(members[at], pointer, place.mutable, place.local, path, read_only_reason=place.read_only_reason)


def _constrained(use: Use) -> Result:
    if not use.flag("cond"):
        use.fail(Code.UNSATISFIED_CONSTRAINT, use.text("message", "a constraint does not hold"))
    return use.nothing()


def _compile_error(use: Use) -> Result:
    if use.elab.coverage.speculation is not None and use.body.frame.module is use.elab.modules.main:
        raise Symbolic  # a generic function says it of a parameter of its own, which is not known here
    named = use.text("code", Code.UNSATISFIED_CONSTRAINT.id)
    code = next((code for code in Code if code.id == named), None)
    if code is None:
        use.mismatch(f"there is no error called '{named}'")
    asked = use.attrs.get("argument")
    if asked is None:
        use.fail(code, use.text("message"))
    given = use.type_of("given") if "given" in use.attrs else None
    if isinstance(given, StructTy) and given.info.has_trait_error:
        raise ErrorReported
    pair = [type_printer.type_name(use.elab, use.type_of(key)) for key in ("given", "expected") if key in use.attrs]
    help = (kernel_argument_hint(*pair) or conversion_help(*pair)) if len(pair) == 2 else ""
    text = use.text("message")
    if len(set(pair)) == 1:  # the same type twice
        text = text.partition("; the kernel declares ")[0]
    use.body.fail(code, text, call_locations.calling_span(use.body, use.number("argument")), help)


def _env_has(use: Use) -> Result:
    return use.truth(use.text("name") in use.elab.comptime.defines)


def _define(use: Use) -> str:
    name = use.text("name")
    value = use.elab.comptime.defines.get(name)
    if value is None:
        use.fail(Code.UNSATISFIED_CONSTRAINT, f"no value is given for '{name}' (-D {name}=...)")
    return value


def _env_string(use: Use) -> Result:
    return use.string(_define(use))


def _env_int(use: Use) -> Result:
    text = _define(use)
    try:
        return use.index(int(text, 0))
    except ValueError:
        pass
    try:
        return use.index(int(text))  # with leading zeros
    except ValueError:
        use.fail(Code.UNSATISFIED_CONSTRAINT, f"the value of '{use.text('name')}' is '{text}', not an integer")


def _is_compile_time(use: Use) -> Result:
    if use.body.frame.comptime:
        return use.truth(True)
    # A function is elaborated once, for the interpreter and for code.
    found = use.body.let(nodes.CallIntrinsic(nodes.INTERPRETED, (), types.BOOL, True), types.BOOL)
    return RValue(primitive_types.prim(use.elab, "i1", ()), found)


def _location(use: Use) -> tuple[str, int, int]:
    if "calls" not in use.attrs:
        return call_locations.call_location(use.body)
    return call_locations.caller_location(use.body, use.number("calls"))


def _source_line(use: Use) -> Result:
    return use.index(_location(use)[1])


def _source_column(use: Use) -> Result:
    return use.index(_location(use)[2])


def _source_file(use: Use) -> Result:
    return use.string(_location(use)[0])


def _source_place(use: Use) -> Result:
    define = use.text("define", "")
    if define and use.elab.comptime.defines.get(define) not in use.text("values", "").split("|"):
        return use.string("")
    return use.string(call_locations.call_place(use.body, use.flag("own")))


def _string_of(use: Use) -> Result:
    value = use.attr("value")
    if isinstance(value, RValue) and isinstance(value.ir, nodes.Const):
        value = ConstValue(value.ty, value.ir.value)
    if not isinstance(value, ConstValue):
        use.fail(Code.NON_CONSTANT_VALUE, "only a value that is known at compile time becomes a constant text")
    try:
        return use.string(comptime_str(use.body, value))
    except ValueError:
        return use.string(show(value))


def _constant_place(use: Use) -> Result:
    value = use.attr("value")
    places = ir_values.constant_items(use.body, value.ty, [value]) if isinstance(value, ConstValue) else None
    if places is None:
        use.fail(
            Code.NON_CONSTANT_VALUE, "only a value that is known at compile time becomes a constant of the program"
        )
    return use.address(places[0].pointer)


def _origin(use: Use) -> Result:
    kind = use.name.rpartition(".")[2]
    mutable = False if kind == "static" else use.flag("mut")
    return ConstValue(primitive_types.prim(use.elab, "!kgen.origin", ()), OriginValue(kind, mutable))


def _origin_cast(use: Use) -> Result:
    given = use.args[0]
    data = given.data if isinstance(given, ConstValue) else None
    if not isinstance(given, ConstValue) or not isinstance(data, OriginValue):
        raise Symbolic  # one that a generic function is tried with
    mutable = use.flag("mut")
    return ConstValue(given.ty, OriginValue(data.kind, mutable, data.local, cast=mutable))


# operation -> (what does it, number of operands, attributes)
COMPTIME: Mapping[str, tuple[Handler, int, tuple[str, ...]]] = MappingProxyType(
    {
        "kgen.size_of": (_size_of, 0, ("type",)),
        "kgen.align_of": (_align_of, 0, ("type",)),
        "kgen.is_trivial": (_is_trivial, 0, ("type",)),
        "kgen.moves_plainly": (_moves_plainly, 0, ("type",)),
        "kgen.type_eq": (_type_eq, 0, ("a", "b")),
        "kgen.type_rebinds": (_type_rebinds, 0, ("a", "b")),
        "kgen.type_identical": (_type_identical, 0, ("a", "b")),
        "kgen.is_held": (_is_held, 0, ("type", "by")),
        "kgen.conforms": (_conforms, 0, ("type", "trait")),
        "kgen.downcast": (_downcast, 0, ("type", "trait")),
        "kgen.type_name": (_type_name, 0, ("type",)),
        "kgen.qualified_name": (_qualified_name, 0, ("type", "builtins")),
        "kgen.name_2026": (_name_2026, 0, ("type", "whole")),
        "kgen.func_name": (_func_name, 0, ("func",)),
        "kgen.linkage_name": (_linkage_name, 0, ("func",)),
        "kgen.pack.size": (_pack_size, 0, ("types",)),
        "kgen.pack.indices": (_pack_indices, 0, ("types", "type")),
        "kgen.func.fits": (_func_fits, 0, ("func", "type")),
        "kgen.module.functions": (_module_functions, 0, ("file",)),
        "kgen.module.function": (_module_function, 0, ("file", "index")),
        "kgen.pack.get": (_pack_get, 1, ("index",)),
        "kgen.variadic.get": (_variadic_get, 0, ("index", "values")),
        "kgen.constrained": (_constrained, 0, ("cond", "message")),
        "kgen.compile_error": (_compile_error, 0, ("message", "code", "argument", "given", "expected")),
        "kgen.env.has": (_env_has, 0, ("name",)),
        "kgen.env.string": (_env_string, 0, ("name",)),
        "kgen.env.int": (_env_int, 0, ("name",)),
        "kgen.is_compile_time": (_is_compile_time, 0, ()),
        "kgen.source.line": (_source_line, 0, ("calls",)),
        "kgen.source.column": (_source_column, 0, ("calls",)),
        "kgen.source.file": (_source_file, 0, ("calls",)),
        "kgen.constant.place": (_constant_place, 0, ("value",)),
        "kgen.source.place": (_source_place, 0, ("own", "define", "values")),
        "kgen.string.of": (_string_of, 0, ("value",)),
        "kgen.origin.any": (_origin, 0, ("mut",)),
        "kgen.origin.static": (_origin, 0, ()),
        "kgen.origin.external": (_origin, 0, ("mut",)),
        "kgen.origin.cast": (_origin_cast, 1, ("mut",)),
    }
)  # fmt: skip
