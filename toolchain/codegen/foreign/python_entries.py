"""An extension module of Python: functions that Python calls, their tables, and `PyInit_…`.

Input: `ir.exports.Exports` with a module name. Output: LLVM text that stands after the functions of the host's module.
The arguments are taken by functions of `stdlib/python/_extension.kpy`; the module needs nothing but Python's stable
ABI.

Source: docs.python.org/3/c-api/module.html and structures.html; the layout of `PyModuleDef` and `PyMethodDef`.
"""

import struct
from collections.abc import Container, Iterator, Mapping
from types import MappingProxyType

from ktc.codegen.context import Context, Uses
from ktc.codegen.foreign import processor_check, python_structs
from ktc.codegen.values.constants import quoted, symbol
from ktc.ir.exports import CType, Export, ExportedArgument, Exports
from ktc.ir.types import BOOL, FloatType, IntType, Type, align_of, size_of

_KINDS = {"bool": 0, "int": 1, "uint": 2, "float": 3, "pointer": 4, "struct": 5, "text": 6, "object": 7,
          "function": 8}  # fmt: skip
_FASTCALL_KEYWORDS = 0x80 | 0x02
_FILE_INPUT = 257
_ABI = 3
_VIEW_WORDS = 12
_ARGUMENT = "{ ptr, i64, i64, i64, i64, i64, i64 }"
_METHOD = "{ ptr, ptr, i32, ptr }"
_MODULE = "{ { i64, ptr, ptr, i64, ptr }, ptr, ptr, i64, ptr, ptr, ptr, ptr, ptr }"

_DECLARED: Mapping[str, str] = MappingProxyType({
    "PyModule_Create2": "declare ptr @PyModule_Create2(ptr, i32)",
    "PyEval_SaveThread": "declare ptr @PyEval_SaveThread()",
    "PyEval_RestoreThread": "declare void @PyEval_RestoreThread(ptr)",
    "PyLong_FromLongLong": "declare ptr @PyLong_FromLongLong(i64)",
    "PyLong_FromUnsignedLongLong": "declare ptr @PyLong_FromUnsignedLongLong(i64)",
    "PyFloat_FromDouble": "declare ptr @PyFloat_FromDouble(double)",
    "PyBool_FromLong": "declare ptr @PyBool_FromLong(i64)",
    "PyUnicode_DecodeUTF8": "declare ptr @PyUnicode_DecodeUTF8(ptr, i64, ptr)",
    "PyBytes_FromStringAndSize": "declare ptr @PyBytes_FromStringAndSize(ptr, i64)",
    "PyErr_SetString": "declare void @PyErr_SetString(ptr, ptr)",
    "PyExc_ImportError": "@PyExc_ImportError = external global ptr",
    "PyModule_GetDict": "declare ptr @PyModule_GetDict(ptr)",
    "Py_CompileString": "declare ptr @Py_CompileString(ptr, ptr, i32)",
    "PyEval_EvalCode": "declare ptr @PyEval_EvalCode(ptr, ptr, ptr)",
    "PyObject_GetAttrString": "declare ptr @PyObject_GetAttrString(ptr, ptr)",
    "PyObject_CallMethod": "declare ptr @PyObject_CallMethod(ptr, ptr, ptr, ...)",
    "Py_DecRef": "declare void @Py_DecRef(ptr)",
    "Py_IncRef": "declare void @Py_IncRef(ptr)",
    "_Py_NoneStruct": "@_Py_NoneStruct = external global i8",
})  # fmt: skip


def module_text(context: Context, exports: Exports, declared: Container[str]) -> str:
    """Return the text of the module's functions and tables.

    Args:
        declared: external functions that the module declares already.
    """
    context.uses = Uses()
    return _Writer(context, exports, declared).write()


class _Writer:
    """Writes one module."""

    def __init__(self, context: Context, exports: Exports, declared: Container[str]) -> None:
        self._context, self._exports, self._declared = context, exports, declared
        self._data: list[str] = []
        self._texts: dict[str, str] = {}
        self._structs = python_structs.classes(exports)

    def write(self) -> str:
        exports = self._exports
        self._module()
        functions = [self._function(one) for one in exports.functions]
        init = self._init()
        declared = [line for name, line in _DECLARED.items() if name not in self._declared]
        return "\n\n".join(["\n".join([*declared, *self._data]), *functions, init])

    def _text(self, text: str) -> str:
        """Return a constant of C's."""
        name = self._texts.get(text)
        if name is None:
            name = self._texts[text] = f"@ktc.py.text.{len(self._texts)}"
            data = text.encode()
            self._data.append(
                f'{name} = private unnamed_addr constant [{len(data) + 1} x i8] c"{quoted(data)}\\00", align 1'
            )
        return name

    # ---- tables ----

    def _module(self) -> None:
        exports = self._exports
        methods = [
            f"{_METHOD} {{ ptr {self._text(one.name)}, ptr {symbol(f'ktc.py.{one.name}')}, i32 {_FASTCALL_KEYWORDS}, "
            f"ptr {self._text(documented(one))} }}"
            for one in exports.functions
        ]
        methods.append(f"{_METHOD} zeroinitializer")
        self._data.append(
            f"@ktc.py.methods = internal global [{len(methods)} x {_METHOD}] [{', '.join(methods)}], align 8"
        )
        base = "{ i64, ptr, ptr, i64, ptr } { i64 1, ptr null, ptr null, i64 0, ptr null }"
        doc = f"ptr {self._text(exports.doc)}" if exports.doc else "ptr null"
        self._data.append(
            f"@ktc.py.module = internal global {_MODULE} {{ {base}, ptr {self._text(exports.module)}, {doc}, i64 -1, "
            "ptr @ktc.py.methods, ptr null, ptr null, ptr null, ptr null }, align 8"
        )

    def _init(self) -> str:
        exports = self._exports
        lines = [f"define ptr @PyInit_{exports_name(exports)}() #0 {{"]
        lines_before, fits = processor_check.condition(self._context.target)
        if lines_before:
            names = ", ".join(processor_check.needed(self._context.target))
            wrong = (
                f"{exports.module} was built for another processor: this one lacks some of {names}; "
                "build it with '--target-cpu x86-64-v3' or 'x86-64'"
            )
            lines += [f"  {line}" for line in lines_before]
            lines += [
                f"  br i1 {fits}, label %fitting, label %other",
                "other:",
                "  %kind = load ptr, ptr @PyExc_ImportError, align 8",
                f"  call void @PyErr_SetString(ptr %kind, ptr {self._text(wrong)})",
                "  ret ptr null",
                "fitting:",
            ]
        lines += [
            f"  %m = call ptr @PyModule_Create2(ptr @ktc.py.module, i32 {_ABI})",
            *self._classes(),
            "  ret ptr %m",
        ]
        return "\n".join([*lines, "}"])

    def _classes(self) -> list[str]:
        """Return the lines that give the module `%m` its classes: they run a text of Python."""
        source = python_structs.module_source(self._exports)
        if not source:
            return []
        name = self._text(f"<structs of {self._exports.module}>")
        return [
            f"  %code = call ptr @Py_CompileString(ptr {self._text(source)}, ptr {name}, i32 {_FILE_INPUT})",
            "  %compiled = icmp ne ptr %code, null",
            "  br i1 %compiled, label %running, label %refused",
            "running:",
            "  %names = call ptr @PyModule_GetDict(ptr %m)",
            "  %ran = call ptr @PyEval_EvalCode(ptr %code, ptr %names, ptr %names)",
            "  call void @Py_DecRef(ptr %code)",
            "  %good = icmp ne ptr %ran, null",
            "  br i1 %good, label %complete, label %refused",
            "refused:",
            "  call void @Py_DecRef(ptr %m)",
            "  ret ptr null",
            "complete:",
            "  call void @Py_DecRef(ptr %ran)",
        ]

    def _described(self, export: Export) -> str:
        """Write the table of a function's arguments; return its name."""
        rows = [self._row(one) for one in export.arguments]
        table = symbol(f"ktc.py.arguments.{export.name}")
        self._data.append(f"{table} = internal constant [{len(rows)} x {_ARGUMENT}] [{', '.join(rows)}], align 8")
        name = symbol(f"ktc.py.function.{export.name}")
        self._data.append(
            f"{name} = internal constant {{ ptr, i64, ptr }} {{ ptr {self._text(export.name)}, i64 {len(rows)}, "
            f"ptr {table} }}, align 8"
        )
        return name

    def _row(self, argument: ExportedArgument) -> str:
        kind, element, bits = argument.type, -1, argument.type.bits
        if kind.kind == "pointer":
            assert kind.of is not None
            if kind.of.kind in ("bool", "int", "uint", "float"):
                element, bits = _KINDS[kind.of.kind], kind.of.bits
        elif kind.kind == "struct":
            bits = 8 * size_of(argument.kind)
        default = 0 if argument.default is None else _bits_of(argument.default, argument.kind)
        words = (_KINDS[kind.kind], bits, element, int(kind.writes), int(argument.default is not None), default)
        return f"{_ARGUMENT} {{ ptr {self._text(argument.name)}, {', '.join([f'i64 {word}' for word in words])} }}"

    # ---- functions ----

    def _function(self, export: Export) -> str:
        context, take, done, fail = self._context, *self._exports.python
        for name in (export.body, take, done, *([fail] if export.raises else ())):
            context.use(name)
        count = max(len(export.arguments), 1)
        about = self._described(export)
        lines = [
            f"  %values = alloca [{2 * count} x i64], align 16",
            f"  %views = alloca [{_VIEW_WORDS * count} x i64], align 16",
        ]
        call = [
            f"  %ok = call zeroext i1 {symbol(take)}(ptr {about}, ptr %args, i64 %count, i64 %names, ptr %values, "
            "ptr %views)",
            "  br i1 %ok, label %taken, label %failed",
            "failed:",
            "  ret ptr null",
            "taken:",
        ]
        passed = [word for at, one in enumerate(export.arguments) for word in self._passed(at, one, lines, call)]
        made = next((one.name for one in self._structs if one.name == export.result.name), "")
        body = _Body(
            context,
            export,
            lines,
            call,
            (self._text(made), self._text("from_buffer_copy"), self._text("O")) if made else (),
        )
        keeps = any(one.type.kind == "object" for one in export.arguments) or export.result.kind == "object"
        call += [] if keeps else ["  %state = call ptr @PyEval_SaveThread()"]
        body.call(passed)
        call += [] if keeps else ["  call void @PyEval_RestoreThread(ptr %state)"]
        call.append(f"  call void {symbol(done)}(ptr {about}, ptr %views)")
        if export.raises:
            call += [
                "  br i1 %raised, label %raise, label %good",
                "raise:",
                f"  %null = call i64 {symbol(fail)}(ptr %error)",
                "  ret ptr null",
                "good:",
            ]
        body.give()
        head = (
            f"define internal ptr {symbol(f'ktc.py.{export.name}')}(ptr %module, ptr %args, i64 %count, i64 %names) #0"
        )
        return "\n".join([f"{head} {{", "entry:", *lines, *call, "}"])

    def _passed(self, at: int, argument: ExportedArgument, lines: list[str], call: list[str]) -> Iterator[str]:
        """Give an argument as the program's function wants it."""
        types, kind = self._context.types, argument.kind
        if argument.passing == "none" or types.is_empty(kind):
            return
        place = f"%a{at}.at"
        call.append(f"  {place} = getelementptr i64, ptr %values, i64 {2 * at}")
        if argument.type.kind == "struct":
            call.append(f"  %a{at}.data = load ptr, ptr {place}, align 8")
            place = f"%a{at}.copy"
            lines.append(f"  {place} = alloca {types.memory(kind)}, align {max(align_of(kind), 8)}")
            call.append(
                f"  call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr %a{at}.data, i64 {size_of(kind)}, i1 false)"
            )
        if argument.passing == "memory":
            yield f"ptr {place}"
            return
        call.append(f"  %a{at} = load {types.memory(kind)}, ptr {place}, align {min(align_of(kind), 8)}")
        if kind == BOOL:
            call.append(f"  %a{at}.b = trunc i8 %a{at} to i1")
            yield f"i1 zeroext %a{at}.b"
        else:
            yield f"{types.value(kind)} %a{at}"


class _Body:
    """The call of the program's function, and its result as an object.

    Args:
        made: of a struct: texts with the name of its class, of the method that makes an object, and with its format.
    """

    def __init__(
        self, context: Context, export: Export, lines: list[str], call: list[str], made: tuple[str, ...]
    ) -> None:
        self._types, self._export, self._lines, self._call = context.types, export, lines, call
        self._kind, self._made = export.result_kind, made
        self._is_empty = export.result.kind == "void" or context.types.is_empty(export.result_kind)

    def _in_memory(self) -> bool:
        return not self._is_empty and (self._export.raises or self._export.result_passing == "memory")

    def call(self, passed: list[str]) -> None:
        """Call the function."""
        export, kind = self._export, self._kind
        if self._in_memory():
            words = (size_of(kind) + 7) // 8
            self._lines.append(f"  %r.at = alloca [{words} x i64], align {max(align_of(kind), 8)}")
            passed = ["ptr %r.at", *passed]
        if export.raises:
            words = (size_of(export.error_kind) + 7) // 8
            self._lines.append(f"  %error = alloca [{words} x i64], align 16")
            self._call.append(
                f"  %raised = call zeroext i1 {symbol(export.body)}({', '.join([*passed, 'ptr %error'])})"
            )
            return
        if self._is_empty or self._in_memory():
            self._call.append(f"  call void {symbol(export.body)}({', '.join(passed)})")
            return
        word = f"{'zeroext ' if kind == BOOL else ''}{self._types.value(kind)}"
        self._call.append(f"  %r = call {word} {symbol(export.body)}({', '.join(passed)})")

    def give(self) -> None:
        """Return the result."""
        call, kind = self._call, self._kind
        if self._is_empty:
            call += ["  call void @Py_IncRef(ptr @_Py_NoneStruct)", "  ret ptr @_Py_NoneStruct"]
            return
        result = self._export.result
        if result.kind == "struct":
            if not self._in_memory():
                self._lines.append(f"  %r.at = alloca {self._types.memory(kind)}, align {max(align_of(kind), 8)}")
                call.append(f"  store {self._types.memory(kind)} %r, ptr %r.at")
            call.append(f"  %o = call ptr @PyBytes_FromStringAndSize(ptr %r.at, i64 {size_of(kind)})")
            call += self._object() if self._made else ["  ret ptr %o"]
            return
        value = "%r"
        if self._in_memory():
            call.append(f"  %r.m = load {self._types.memory(kind)}, ptr %r.at, align {min(align_of(kind), 8)}")
            value = "%r.m"
            if kind == BOOL:
                call.append("  %r.t = trunc i8 %r.m to i1")
                value = "%r.t"
        call += [*_object_of(result, kind, self._types.value(kind), value), "  ret ptr %o"]

    def _object(self) -> list[str]:
        """Return the lines that give an object of the struct's class with the bytes `%o`."""
        name, method, form = self._made
        return [
            f"  %class = call ptr @PyObject_GetAttrString(ptr %module, ptr {name})",
            "  %found = icmp ne ptr %class, null",
            "  br i1 %found, label %making, label %lost",
            "making:",
            "  %made = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod("
            f"ptr %class, ptr {method}, ptr {form}, ptr %o)",
            "  call void @Py_DecRef(ptr %class)",
            "  call void @Py_DecRef(ptr %o)",
            "  ret ptr %made",
            "lost:",
            "  call void @Py_DecRef(ptr %o)",
            "  ret ptr null",
        ]


def _object_of(result: CType, kind: Type, word: str, value: str) -> list[str]:
    """Return the lines that make an object `%o` of a result."""
    match result.kind:
        case "bool":
            return [f"  %w = zext i1 {value} to i64", "  %o = call ptr @PyBool_FromLong(i64 %w)"]
        case "float":
            if isinstance(kind, FloatType) and kind.bits < 64:
                return [f"  %w = fpext {word} {value} to double", "  %o = call ptr @PyFloat_FromDouble(double %w)"]
            return [f"  %o = call ptr @PyFloat_FromDouble(double {value})"]
        case "text":
            return [
                f"  %t = extractvalue {word} {value}, 0", f"  %n = extractvalue {word} {value}, 1",
                "  %o = call ptr @PyUnicode_DecodeUTF8(ptr %t, i64 %n, ptr null)",
            ]  # fmt: skip
        case "object":
            return [f"  %o = inttoptr i64 {value} to ptr"] if word == "i64" else [f"  %o = bitcast ptr {value} to ptr"]
        case "pointer" | "function":
            return [f"  %w = ptrtoint ptr {value} to i64", "  %o = call ptr @PyLong_FromUnsignedLongLong(i64 %w)"]
    name = "PyLong_FromLongLong" if result.kind == "int" else "PyLong_FromUnsignedLongLong"
    if isinstance(kind, IntType) and kind.bits < 64:
        cast = "sext" if result.kind == "int" else "zext"
        return [f"  %w = {cast} {word} {value} to i64", f"  %o = call ptr @{name}(i64 %w)"]
    return [f"  %o = call ptr @{name}(i64 {value})"]


def _bits_of(number: float, kind: Type) -> int:
    """Return a number as a word of memory that begins with it."""
    if isinstance(kind, FloatType):
        letter = {16: "e", 32: "f", 64: "d"}[kind.bits]
        return int.from_bytes(struct.pack(f"<{letter}", number), "little")
    return int(number)


def exports_name(exports: Exports) -> str:
    """Return the module's own name, without the packages that it is in."""
    return exports.module.rpartition(".")[2]


def _default(argument: ExportedArgument) -> str:
    if argument.default is None:
        return ""
    return f"={bool(argument.default) if argument.type.kind == 'bool' else argument.default}"


def documented(export: Export) -> str:
    """Return a function's docstring with its signature before it, as Python reads them."""
    names = ", ".join([f"{one.name}{_default(one)}" for one in export.arguments])
    return f"{export.name}({names})\n--\n\n{clean(export.doc)}"


def clean(doc: str) -> str:
    """Return a docstring without the indentation of the source."""
    lines = doc.strip().split("\n")
    depth = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    return "\n".join([lines[0].rstrip(), *(line[depth:].rstrip() for line in lines[1:])])
