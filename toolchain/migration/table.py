"""The kinds of changes, one row each: what `ktc format --migrate` and `ktc check --fix` make of a text of edition 2025.

The rules that find their places stand in `rules/`.
"""

from ktc.migration.changes import Rewrite

FUNCTION_WORD = Rewrite("function-word", "write 'def'")
RAISES = Rewrite("raises", "write 'raises'")
POINTER_TYPE = Rewrite("thin", "write 'thin' before '->'")
COMPTIME = Rewrite("comptime", "write 'comptime'")
COMPTIME_ASSERT = Rewrite("comptime-assert", "write 'comptime assert'")
CONVENTION = Rewrite("convention", "write the convention of edition 2026")
LIFECYCLE = Rewrite("lifecycle", "write the constructor or destructor of edition 2026")
DECORATOR = Rewrite("decorator", "write the decorator or trait of edition 2026")
REQUIREMENT = Rewrite("requirement", "write '...' for a method that a trait asks for")
DESTRUCTOR = Rewrite("destructor", "say that the type has a destructor")
VARIABLE = Rewrite("variable", "declare the variable with 'var'")
PARAMETER = Rewrite("self-parameter", "write 'Self.' before the parameter")
IMPORT = Rewrite("import", "import it by its name of edition 2026")
NAME = Rewrite("name", "write the name of edition 2026")
METHOD = Rewrite("method", "call the method of edition 2026")
CAPTURES = Rewrite("captures", "list what the function captures")
CLOSURE = Rewrite("closure", "pass the closure as an argument")
DIVISION = Rewrite("division", "divide as Float64")
DISPLAY = Rewrite("display", "write the type of the list")
INDEX = Rewrite("index", "count the index from the beginning")
SLICE = Rewrite("slice", "copy what the slice views")
TEXT = Rewrite("text", "index the text by bytes")
CHARACTERS = Rewrite("characters", "go over the code points")
CONVERSION = Rewrite("conversion", "convert the value by its type's name")
POINTER = Rewrite("pointer", "use the pointer as edition 2026 does")
KERNEL = Rewrite("kernel", "give the kernel a scalar of fixed width")
LAUNCH = Rewrite("launch", "launch the kernel as edition 2026 does")
TEMPLATE = Rewrite("template", "write a template string")
ESCAPE = Rewrite("escape", "look at the escape")
SHOWN = Rewrite("shown", "look at the text that is printed")
IDS = Rewrite("ids", "look at the arithmetic: ids are signed")
REST = Rewrite("rest", "change by hand")
