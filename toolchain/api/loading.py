"""Extension modules into this process.

Input: the result of a build. Output: a module of Python.
"""

import re
from hashlib import sha256
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType

from ktc.api.building import Made, scratch
from ktc.emit.linking.link import install


def load_extension(made: Made, name: str) -> ModuleType:
    """Load an extension module from a file of its own: it stays as it is, whatever is loaded after it.

    Raises:
        ImportError: a function that the program calls is in no library.
    """
    path = scratch(made) / f"{name}.{sha256(made.data).hexdigest()[:20]}.so"
    if not path.is_file():
        install(made.data, path)
    loader = ExtensionFileLoader(name, str(path))
    try:
        module = module_from_spec(ModuleSpec(name, loader, origin=str(path)))
    except ImportError as error:
        missing = re.search(r"undefined symbol: (\w+)|symbol not found.*'_?(\w+)'", str(error))
        if missing is None:
            raise
        text = f"{name}: no library has the function '{missing[1] or missing[2]}'"
        raise ImportError(f"{text}: name its library, as in libraries=['z']", name=name) from error
    loader.exec_module(module)
    return module
