"""A transpose whose tile and lines are choices for `ktc tune`.

    ktc run examples/tune_transpose.kpy
    ktc tune examples/tune_transpose.kpy -D N=8192
    ktc run -D N=8192 --tuned examples/tune_transpose.tuned.toml examples/tune_transpose.kpy
"""

from max.gpu import barrier, block_idx, thread_idx
from max.gpu.host import DeviceContext
from std.memory import unsafe_stack_allocation
from std.sys import get_defined_int
from tuning import measure, tunable

comptime N = get_defined_int["N", 256]()
comptime TILE = tunable["TILE", 16, 32, 64]()
comptime LINES = tunable["LINES", 16, 4, 8, 32]()
"""Lines of a tile that a block copies at once."""
comptime PAD = tunable["PAD", 0, 1]()

comptime Floats = Pointer[Float32, MutAnyOrigin]


def transpose(target: Floats, source: Floats):
    comptime assert LINES <= TILE, "a tile has LINES lines or more"
    comptime WIDTH = TILE + PAD
    var tile = unsafe_stack_allocation[
        TILE * WIDTH, Float32, address_space=AddressSpace.SHARED
    ]()
    var column = Int(thread_idx.x)
    var line = Int(thread_idx.y)
    var x = Int(block_idx.x) * TILE
    var y = Int(block_idx.y) * TILE

    comptime for step in range(0, TILE, LINES):
        var row = line + step
        tile[unsafe_offset=row * WIDTH + column] = source[
            unsafe_offset=(y + row) * N + x + column
        ]
    barrier()

    comptime for step in range(0, TILE, LINES):
        var row = line + step
        target[unsafe_offset=(x + row) * N + y + column] = tile[
            unsafe_offset=column * WIDTH + row
        ]


def main() raises:
    with DeviceContext() as ctx:
        var source = ctx.enqueue_create_buffer[DType.float32](N * N)
        var target = ctx.enqueue_create_buffer[DType.float32](N * N)
        with source.map_to_host() as host:
            for i in range(N * N):
                host[i] = Float32(i % 1009)

        def launch(ctx: DeviceContext) raises {imm target, imm source}:
            ctx.enqueue_function[transpose](
                target,
                source,
                grid_dim=(N // TILE, N // TILE),
                block_dim=(TILE, LINES),
            )

        measure(launch, ctx, target)
        var wrong = 0
        with target.map_to_host() as host:
            for i in range(N):
                for j in range(0, N, 7):
                    wrong += Int(host[i * N + j] != Float32((j * N + i) % 1009))
        print("transposed:", wrong, "wrong")
