"""What to do about errors in functions that are kernels: a kernel cannot raise.

Input: the function that is elaborated. Output: the help of a diagnostic.
"""

import re

from ktc.elaborate.model.elaboration import Body

_IN_KERNEL = "a kernel cannot raise: write a code to a buffer that the host reads, or stop it with 'abort', from 'os'"


def help_for(body: Body) -> str:
    """Return what to write where nothing may raise."""
    return _IN_KERNEL if is_kernel(body) else "declare this function with 'raises'"


def is_kernel(body: Body) -> bool:
    """Return whether a function runs on a device, or is launched somewhere in its own file."""
    if body.elab.instances.state.index > 0:
        return True
    instance = body.frame.outer_instance
    if instance is None:
        return False
    launched = rf"enqueue_function\w*\s*\[\s*{re.escape(instance.fn.node.name)}\b"
    return re.search(launched, body.frame.module.source.text) is not None
