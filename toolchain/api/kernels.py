"""Kernels from Python: `kernel[grid, block](arguments)` on the device where the arrays are.

Input: a source file, the name of a kernel, its parameters. Output: launches: of arrays of the host on the CPU device,
done on return; of arrays on an NVIDIA GPU in the order of the current stream of torch or cupy.
"""

from collections.abc import Callable
from typing import TypeAlias

from ktc.api import building, cuda
from ktc.api.building import BuildOptions, BuildRequest
from ktc.api.kernel_source import LAUNCH, launching_text
from ktc.api.loading import load_extension
from ktc.api.repeated_launch import Repeat
from ktc.base.records import replace

Shape: TypeAlias = int | tuple[int, ...]
Call: TypeAlias = Callable[..., object]


class Kernel:
    """A kernel with its compile-time parameters; `kernel[grid, block]` is what is called."""

    def __init__(self, request: BuildRequest, name: str, parameters: dict[str, object]) -> None:
        self.__name__ = name
        self._request, self._parameters = request, parameters
        self._launchers: dict[object, Launcher] = {}
        self._on_cpu: Call | None = None
        self._on_gpu: dict[str, cuda.GpuKernel] = {}
        text, self.__doc__, self.arguments = launching_text(request, name, parameters, "cpu")
        self._cpu_wish = replace(request, text=text, emit="python-extension", options=self._options("cpu"))

    def _options(self, target: str) -> BuildOptions:
        return BuildOptions(**{**self._request.options, "target": target})

    def __getitem__(self, shape: tuple[Shape, ...]) -> "Launcher":
        """Return a launch with a grid of blocks, a block of threads, and perhaps bytes of shared memory.

        Raises:
            TypeError: these are no numbers, or tuples of at most three.
        """
        found = self._launchers.get(shape)
        if found is None:
            if not isinstance(shape, tuple) or len(shape) not in (2, 3):
                raise TypeError(f"write {self.__name__}[grid, block] or {self.__name__}[grid, block, shared_bytes]")
            shared = shape[2] if len(shape) == 3 else 0
            if not isinstance(shared, int):
                raise TypeError(f"{self.__name__}: the bytes of shared memory are a number, not {shared!r}")
            sizes = (*_three(self.__name__, "grid", shape[0]), *_three(self.__name__, "block", shape[1]), shared)
            found = self._launchers[shape] = Launcher(self, sizes)
        return found

    def host_call(self) -> Call:
        """Return what launches it on the CPU device; compiles it on the first call."""
        if self._on_cpu is None:
            module = load_extension(building.make(self._cpu_wish), self._cpu_wish.module)
            call: Call = getattr(module, LAUNCH)
            self._on_cpu = call
        return self._on_cpu

    def gpu_kernel(self, target: str) -> cuda.GpuKernel:
        """Return what launches it on a GPU; compiles it on the first call."""
        found = self._on_gpu.get(target)
        if found is None:
            text, _, _ = launching_text(self._request, self.__name__, self._parameters, "cuda")
            request = replace(self._request, text=text, emit="shared-lib", options=self._options(target))
            code, exports = building.text_of(request, "asm", "", True)
            launch = next(one for one in exports.functions if one.name == LAUNCH)
            count = len(launch.arguments) - 7
            found = self._on_gpu[target] = cuda.GpuKernel(self.__name__, code, launch.arguments[:count])
        return found

    def asm(self, kind: str = "ptx", target: str = "sm_90") -> str:
        """Return the kernel's code: "ptx" or "asm", "llvm", "llvm-opt" or "ir".

        Args:
            target: for which device ("sm_90", "gfx942", "cpu").
        """
        kind = "asm" if kind == "ptx" else kind
        text, _, _ = launching_text(self._request, self.__name__, self._parameters, "")
        request = replace(self._request, text=text, emit="shared-lib", options=self._options(target))
        return building.text_of(request, kind, "", True)[0].decode()

    def __call__(self, *_: object, **__: object) -> None:
        """Say how a kernel is launched.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"a kernel is launched with its grid and block: {self.__name__}[grid, block](…)")

    def __repr__(self) -> str:
        """Say which kernel it is."""
        given = ", ".join([f"{name}={value}" for name, value in self._parameters.items()])
        return f"<ktc kernel '{self.__name__}{f'[{given}]' if given else ''}' of {self._request.path.name}>"


class Launcher:
    """A kernel with the shape of its launch."""

    def __init__(self, kernel: Kernel, sizes: tuple[int, ...]) -> None:
        self._kernel, self._sizes = kernel, sizes
        self._host: Call | None = None
        self._gpu: dict[int, cuda.Launch] = {}
        self._repeat: Repeat | None = None

    def __call__(self, *args: object) -> None:
        """Launch the kernel; arrays are used where they are, nothing is copied.

        Raises:
            TypeError, ValueError, OverflowError: an argument does not fit.
            RuntimeError: the device refuses the launch.
        """
        repeat = self._repeat
        if repeat is not None and repeat(args):
            return
        own = self._kernel
        if len(args) != len(own.arguments):
            wanted = ", ".join(own.arguments)
            count = f"{len(own.arguments)} argument{'' if len(own.arguments) == 1 else 's'}"
            raise TypeError(f"{own.__name__}() takes {count} ({wanted}), not {len(args)}")
        device = cuda.device_of(args)
        if device >= 0:
            launch = self._gpu.get(device)
            if launch is None:
                kernel = own.gpu_kernel(cuda.target_of(device))
                launch = self._gpu[device] = kernel.launch(self._sizes, device)
            launch(args)
            self._repeat = launch.repeated()
            return
        if self._host is None:
            self._host = own.host_call()
        try:
            self._host(*args, *self._sizes)
        except (TypeError, ValueError, OverflowError) as error:
            error.args = (str(error).replace(f"{LAUNCH}()", f"{own.__name__}()", 1),)
            raise


def _three(name: str, what: str, shape: Shape) -> tuple[int, int, int]:
    given = (shape,) if isinstance(shape, int) else shape
    if not isinstance(given, tuple) or not 1 <= len(given) <= 3 or not all(isinstance(one, int) for one in given):
        raise TypeError(f"{name}: the {what} is a number or a tuple of at most three, not {shape!r}")
    if min(given) < 1:
        raise ValueError(f"{name}: the {what} {shape!r} has no threads")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z
