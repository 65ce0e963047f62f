"""Extension modules into this process.

In: what a build made. Out: a module of Python.
"""

from hashlib import sha256
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType

from ktc.api.building import Made, scratch
from ktc.emit.link import install


def load_extension(made: Made, name: str) -> ModuleType:
    """Load an extension module from a file of its own: what is loaded stays, whatever is loaded after it."""
    path = scratch(made) / f"{name}.{sha256(made.data).hexdigest()[:20]}.so"
    if not path.is_file():
        install(made.data, path)
    loader = ExtensionFileLoader(name, str(path))
    module = module_from_spec(ModuleSpec(name, loader, origin=str(path)))
    loader.exec_module(module)
    return module
