"""Which instructions a library asks the processor for that loads it."""

from ktc.base.records import replace
from ktc.codegen.foreign.processor_check import needed
from ktc.targets.host import host_target


def test_named_processors() -> None:
    target = replace(host_target("x86_64-unknown-linux-gnu"), features="")
    assert needed(replace(target, cpu="x86-64")) == ()
    assert "avx2" in needed(replace(target, cpu="haswell")) and "avx512f" not in needed(replace(target, cpu="haswell"))
    assert "avx512vl" in needed(replace(target, cpu="znver4"))
    assert "avx512fp16" in needed(replace(target, cpu="sapphirerapids"))
    assert "avx512fp16" not in needed(replace(target, cpu="sapphirerapids", features="-avx512fp16"))
