"""Unpickling that makes records of ktc's own and nothing else.

Input: bytes of the cache. Output: the unpickled object. A pickle names the functions that loading it calls; here
that can only be a class of the modules below, whose constructors keep their arguments and do no more. A pickle can also
set attributes of what it has made; of these classes and their values it cannot.
"""

import io
import pickle
import sys

from ktc.base.records import constructed_only

_MODULES = frozenset((
    "ktc.base.editions",
    "ktc.diag.codes", "ktc.diag.diagnostic", "ktc.diag.fixes", "ktc.diag.source", "ktc.driver.front_end.kept_library",
    "ktc.elaborate.instances.library_archive", "ktc.elaborate.model.body_store", "ktc.ir.exports",
    "ktc.ir.nodes.actions", "ktc.ir.nodes.statements", "ktc.ir.nodes.units", "ktc.ir.nodes.values", "ktc.ir.types",
    "ktc.syntax.ast.expressions", "ktc.syntax.ast.simple_statements",
    "ktc.syntax.ast.statements",
))  # fmt: skip
_PLAIN = frozenset((("builtins", "frozenset"), ("builtins", "set"), ("ktc.base.cache", "Lock")))


class Unpickler(pickle.Unpickler):
    """Loads one pickle."""

    def find_class(self, module: str, name: str) -> object:
        """Return a class that a pickle names.

        Raises:
            UnpicklingError: it is none of those that are kept.
        """
        if (module, name) in _PLAIN:
            plain: object = super().find_class(module, name)
            return plain
        if module in _MODULES and "." not in name:
            loaded = sys.modules.get(module)  # nearly always: much faster than an import
            found = super().find_class(module, name) if loaded is None else getattr(loaded, name, None)
            if isinstance(found, type) and found.__module__ == module:
                constructed_only(found)
                return found
        raise pickle.UnpicklingError(f"'{module}.{name}' is not what is kept")


def loads(data: bytes) -> object:
    """Return the object in a pickle of the cache.

    Raises:
        UnpicklingError: it names something else than records of ktc's own; damage can raise anything.
    """
    made: object = Unpickler(io.BytesIO(data)).load()
    return made
