"""Operators for Python: structs below `@compiler.register("name")`.

Input: a module's tree. Output: which decorators are registrations, and the structs that they register by name.
"""

from ktc.syntax import ast

MODULES = ("compiler", "compiler_internal", "extensibility")
"""Modules of the library whose `register` makes a struct an operator."""


def is_registration(module: ast.Module, value: ast.Expr) -> bool:
    """Whether a decorator, or the function that it calls, is `register`, by whichever name the module imports it."""
    if isinstance(value, ast.Call):
        value = value.func
    for statement in module.body:
        match statement:
            case ast.Import(names=names) if isinstance(value, ast.Attribute) and value.name == "register":
                owner = value.value.id if isinstance(value.value, ast.Name) else ""
                if any(dotted in MODULES and owner == (alias or dotted) for dotted, alias in names):
                    return True
            case ast.FromImport(module=dotted, names=names) if dotted in MODULES and isinstance(value, ast.Name):
                if any(name == "register" and value.id == (alias or name) for name, alias in names):
                    return True
            case _:
                pass
    return False


def registered(module: ast.Module) -> list[tuple[str, ast.StructDecl]]:
    """Return the structs of a module that are operators, with the names that they are registered with."""
    found = list[tuple[str, ast.StructDecl]]()
    for statement in module.body:
        if isinstance(statement, ast.StructDecl):
            for decorator in statement.decorators:
                call = decorator.value
                if isinstance(call, ast.Call) and call.args and is_registration(module, call):
                    name = call.args[0]
                    if isinstance(name, ast.StrLit):
                        found.append((name.value, statement))
    return found
