"""The note about recursion in PTX text."""

import pytest
from ktc.emit.objects.ptx import RECURSION, noted

KERNEL = """//
.func  (.param .b64 func_retval0) a
(
	.param .b64 a_param_0
)
;
.visible .entry k(
	.param .u64 .ptr .align 1 k_param_0
)
{
	{ // callseq 0, 0
	call.uni (retval0), a, (param0);
	} // callseq 0
	call (retval0), %rd1, (param0), prototype_0;
}
"""
FUNCTION = """.func  (.param .b64 func_retval0) a(
	.param .b64 a_param_0
)
{
	call.uni (retval0), b, (param0);
	call.uni
	c,
	(
	param0
	);
}
.func b(
	.param .b64 b_param_0
)
{
	%s
}
"""


@pytest.mark.parametrize("last, recursive", [("ret;", False), ("call.uni a, (param0);", True), ("call b;", True)])
def test_functions_that_may_call_themselves_are_noted(last: str, recursive: bool) -> None:
    text = (KERNEL + FUNCTION % last).encode()
    assert noted(text) == (RECURSION + text if recursive else text)


def test_most_kernels_have_no_functions() -> None:
    text = b"//\n.visible .entry k(\n)\n{\n\tret;\n}\n"
    assert noted(text) is text
