"""Kernels from Python: `kernel[grid, block](arguments)` on the device where the arrays are.

Input: a source file, the name of a kernel, its parameters. Output: launches: of arrays of the host on the CPU device,
done on return; of arrays on an NVIDIA GPU in the order of the current stream of torch or cupy.
"""

from collections.abc import Callable
from operator import index
from time import monotonic, time
from typing import SupportsIndex, TypeAlias

from ktc.api import building, cuda
from ktc.api.building import BuildOptions, BuildRequest
from ktc.api.kernel_source import LAUNCH, launching_text
from ktc.api.loading import load_extension
from ktc.api.repeated_launch import Repeat
from ktc.api.watching import Watch
from ktc.base.records import replace

Shape: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...]
Call: TypeAlias = Callable[..., object]


class Kernel:
    """A kernel with its compile-time parameters; `kernel[grid, block]` is what is called.

    Attributes:
        version: how often its file has changed. watch: when the file is looked at next.
    """

    def __init__(self, request: BuildRequest, name: str, parameters: dict[str, object], reloads: bool = False) -> None:
        self.__name__ = name
        self._request, self._parameters, self._reloads = request, parameters, reloads
        self._launchers: dict[object, Launcher] = {}
        self.watch, self.version = Watch(reloads), 0
        self.reload()

    def reload(self) -> None:
        """Read the source again; it is compiled at the next launch."""
        request, name, parameters = self._request, self.__name__, self._parameters
        self.version += 1
        self._since = time()
        self.watch.begin([request.path], self._since)
        self._on_cpu: Call | None = None
        self._on_gpu: dict[str, cuda.GpuKernel] = {}
        text, self.__doc__, self.arguments = launching_text(request, name, parameters, "cpu")
        self._cpu_wish = replace(request, text=text, emit="python-extension", options=self._options("cpu"))

    def _options(self, target: str) -> BuildOptions:
        return BuildOptions(**{**self._request.options, "target": target})

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it: another process compiles it, or finds it in the cache."""
        return Kernel, (self._request, self.__name__, self._parameters, self._reloads)

    def __getitem__(self, shape: tuple[Shape, ...]) -> "Launcher":
        """Return a launch with a grid of blocks, a block of threads, and perhaps bytes of shared memory.

        Raises:
            TypeError: these are no numbers, or tuples of at most three.
        """
        shape = _hashable(shape)
        found = self._launchers.get(shape)
        if found is None:
            if not isinstance(shape, tuple) or len(shape) not in (2, 3):
                raise TypeError(f"write {self.__name__}[grid, block] or {self.__name__}[grid, block, shared_bytes]")
            shared = shape[2] if len(shape) == 3 else 0
            if not isinstance(shared, SupportsIndex):
                raise TypeError(f"{self.__name__}: the bytes of shared memory are a number, not {shared!r}")
            sizes = (*_three(self.__name__, "grid", shape[0]), *_three(self.__name__, "block", shape[1]), index(shared))
            found = self._launchers[shape] = Launcher(self, sizes)
        return found

    def host_call(self) -> Call:
        """Return the function that launches it on the CPU device; the first call compiles it."""
        if self._on_cpu is None:
            made = building.make(self._cpu_wish)
            self.watch.begin(made.reads, self._since)
            module = load_extension(made, self._cpu_wish.module)
            call: Call = getattr(module, LAUNCH)
            self._on_cpu = call
        return self._on_cpu

    def gpu_kernel(self, target: str) -> cuda.GpuKernel:
        """Return the kernel for launches on a GPU; the first call compiles it."""
        found = self._on_gpu.get(target)
        if found is None:
            text, _, _ = launching_text(self._request, self.__name__, self._parameters, "cuda")
            request = replace(self._request, text=text, emit="shared-lib", options=self._options(target))
            made = building.text_of(request, "asm", "", True)
            self.watch.begin(made.reads, self._since)
            launch = next(one for one in made.exports.functions if one.name == LAUNCH)
            count = len(launch.arguments) - 7
            found = self._on_gpu[target] = cuda.GpuKernel(self.__name__, made.data, launch.arguments[:count])
        return found

    def asm(self, kind: str = "ptx", target: str = "sm_90") -> str:
        """Return the kernel's code: "ptx" or "asm", "llvm", "llvm-opt" or "ir".

        Args:
            target: for which device ("sm_90", "gfx942", "cpu").
        """
        kind = "asm" if kind == "ptx" else kind
        text, _, _ = launching_text(self._request, self.__name__, self._parameters, "")
        request = replace(self._request, text=text, emit="shared-lib", options=self._options(target))
        return building.text_of(request, kind, "", True).data.decode()

    def __call__(self, *_: object, **__: object) -> None:
        """Say how a kernel is launched.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"a kernel is launched with its grid and block: {self.__name__}[grid, block](…)")

    def __repr__(self) -> str:
        """Say which kernel it is."""
        given = ", ".join([f"{name}={_shown(value)}" for name, value in self._parameters.items()])
        return f"<ktc kernel '{self.__name__}{f'[{given}]' if given else ''}' of {self._request.path.name}>"


class Launcher:
    """A kernel with the shape of its launch."""

    def __init__(self, kernel: Kernel, sizes: tuple[int, ...]) -> None:
        self._kernel, self._sizes, self._version = kernel, sizes, 0
        self._forget()

    def _forget(self) -> None:
        """Begin again, with the kernel's present source."""
        self._version = self._kernel.version
        self._host: Call | None = None
        self._gpu: dict[int, cuda.Launch] = {}
        self._repeat: Repeat | None = None

    def __call__(self, *args: object, **named: object) -> None:
        """Launch the kernel; arrays are used where they are, nothing is copied.

        Args:
            named: arguments by their names, after those by position.

        Raises:
            TypeError, ValueError, OverflowError: an argument does not fit.
            RuntimeError: the device refuses the launch.
            CompileError: the kernel has errors, also after a change of its file.
        """
        own = self._kernel
        if monotonic() >= own.watch.next:
            own.watch.refresh(own.reload)
        if self._version != own.version:
            self._forget()
        if named:
            args = self._in_order(args, named)
        repeat = self._repeat
        if repeat is not None and repeat(args):
            return
        if len(args) != len(own.arguments):
            expected = ", ".join(own.arguments)
            count = f"{len(own.arguments)} argument{'' if len(own.arguments) == 1 else 's'}"
            raise TypeError(f"{own.__name__}() takes {count} ({expected}), not {len(args)}")
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
        self._launch_here(self._host, args)

    def _in_order(self, args: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...]:
        """Return all arguments by position."""
        own = self._kernel
        for name in named:
            if name not in own.arguments:
                raise TypeError(f"{own.__name__}() has no argument '{name}'; it takes {', '.join(own.arguments)}")
            if name in own.arguments[: len(args)]:
                raise TypeError(f"{own.__name__}() gets its argument '{name}' twice")
        rest = own.arguments[len(args) :]
        for name in rest:
            if name not in named:
                raise TypeError(f"{own.__name__}() misses its argument '{name}'")
        return (*args, *[named[name] for name in rest])

    def _launch_here(self, call: Call, args: tuple[object, ...]) -> None:
        """Launch on the CPU device; errors name the kernel, not the function that launches it."""
        own = self._kernel
        try:
            call(*args, *self._sizes)
        except (TypeError, ValueError, OverflowError) as error:
            error.args = (str(error).replace(f"{LAUNCH}()", f"{own.__name__}()", 1),)
            raise


def _hashable(shape: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """Return the shape of a launch with tuples instead of lists."""
    if type(shape) is not tuple:
        return shape
    if any([isinstance(one, list) for one in shape]):
        return tuple([tuple(one) if isinstance(one, list) else one for one in shape])
    return shape


def _shown(value: object) -> object:
    return getattr(value, "__name__", value) if isinstance(value, type) else value


def _three(name: str, what: str, shape: Shape) -> tuple[int, int, int]:
    given: tuple[object, ...] = shape if isinstance(shape, tuple) else (shape,)
    if not 1 <= len(given) <= 3 or not all(isinstance(one, SupportsIndex) for one in given):
        raise TypeError(f"{name}: the {what} must be an integer or a tuple of at most three, not {shape!r}")
    numbers = [index(one) for one in given if isinstance(one, SupportsIndex)]
    if min(numbers) < 1:
        raise ValueError(f"{name}: the {what} {shape!r} has no threads")
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z
