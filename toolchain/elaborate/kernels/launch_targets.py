"""For which of the program's targets a piece of a host function starts kernels.

Input: the condition of a `@parameter if` and its truth. Output: a bit for each target.
"""

from ktc.elaborate.comptime import evaluation
from ktc.elaborate.instances import instance_table
from ktc.elaborate.model.elaboration import Body
from ktc.syntax import ast


def targets_satisfying(body: Body, condition: ast.Expr, truth: bool) -> int:
    """Return for which of a body's `launch_targets` a condition has this truth, if each were the only target.

    What is started under `@parameter if has_nvidia_gpu_accelerator()` is not meant for the others.
    """
    elab, found = body.elab, 0
    config = elab.config
    if len(config.accelerators) < 2 or body.frame.module.is_library or elab.instances.state.index >= 0:
        return int(body.site.launch_targets)
    for index, target in enumerate(config.accelerators):
        outer = elab.instances.enter_state(instance_table.single_target_state(elab, target))
        try:
            found |= (bool(evaluation.index_of(elab, evaluation.param_arg(body, condition))) == truth) << index
        finally:
            elab.instances.enter_state(outer)
    return found & int(body.site.launch_targets)
