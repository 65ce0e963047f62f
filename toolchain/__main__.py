"""`python -m ktc`, and where the command `ktc` starts: Ctrl-C is answered from here on, while modules load too."""

import gc
import sys
from typing import NoReturn

from ktc.base.version import VERSION

_INTERRUPTED = 130


def entry() -> NoReturn:
    """Run as the command `ktc`."""
    gc.disable()  # of what is loaded nothing is garbage: looking for some costs 6 ms
    try:
        if sys.argv[1:] == ["--version"]:  # without the commands, which take twice as long to load as LLVM
            from ktc.targets.llvm_version import llvm_versions  # late: only for some commands

            print(f"ktc {VERSION} ({llvm_versions()})")
            sys.exit()
        from ktc.cli.commands import entry as run  # late: to answer Ctrl-C
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    run()


if __name__ == "__main__":
    entry()
