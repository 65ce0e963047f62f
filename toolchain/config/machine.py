"""Facts about this machine that are slow to find, its processor and its GPUs; the cache keeps them."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from ktc.base.cache import Cache, Key
from ktc.base.package_files import InstalledPackage
from ktc.base.records import as_dict
from ktc.targets import host as hosts
from ktc.targets.detection import drivers


def local_gpus(cache: Cache, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the targets of this machine's GPUs, each once; asks a driver only when it or its devices changed."""
    version = drivers.cuda_driver_version()
    if not version:
        return tuple(dict.fromkeys(gpu.target for gpu in (*drivers.amd_gpus(), *drivers.apple_gpus())))
    devices = sorted(path.name for path in Path("/dev").glob("nvidia[0-9]*"))
    visible = environment.get("CUDA_VISIBLE_DEVICES", "all")
    key = Key.of("gpus", driver=str(version), kernel=_driver_build(), devices=" ".join(devices), visible=visible)
    kept = cache.get(key)
    if kept is not None:
        return tuple(kept.decode().split())
    found = _in_child_process(lambda: tuple(dict.fromkeys(gpu.target for gpu in drivers.gpus())))
    if found:  # a driver that could not start now may start the next time
        cache.put(key, " ".join(found).encode())
    return found


def _in_child_process(ask: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the answer of a function that runs in a child of this process.

    A process that has started CUDA cannot fork one that uses it, and `ktc run` runs its program in a fork.
    """
    if not hasattr(os, "fork"):
        return ask()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, " ".join(ask()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        found = tuple(answer.read().decode().split())
    os.waitpid(child, 0)
    return found


def _driver_build() -> str:
    try:
        return Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return ""


def installed_packages(cache: Cache, environment: Mapping[str, str] = os.environ) -> tuple[InstalledPackage, ...]:
    """Return the packages in Python's environment: the active virtual one, else ktc's own.

    Its folders are looked through when they have changed.
    """
    folders = _site_folders(environment)
    times = [f"{folder} {folder.stat().st_mtime_ns}" for folder in folders]
    key = Key.of("installed-packages", folders="\n".join(times))
    kept = cache.get(key)
    if kept is None:
        from ktc.config.installed import found  # late: only after a cache miss

        kept = "\n".join("\t".join((one.name, one.folder, one.distribution)) for one in found(folders)).encode()
        cache.put(key, kept)
    rows = [line.split("\t") for line in kept.decode().splitlines()]
    return tuple([InstalledPackage(*row) for row in rows if len(row) == 3])


def _site_folders(environment: Mapping[str, str]) -> list[Path]:
    """Return the folders in which Python's environment has distributions."""
    active = environment.get("VIRTUAL_ENV", "")
    if active and Path(active).resolve() != Path(sys.prefix).resolve():
        found = [*Path(active).glob("lib/python3*/site-packages"), Path(active, "Lib", "site-packages")]
    else:
        found = [Path(one) for one in sys.path if one.endswith(("site-packages", "dist-packages"))]
    return [folder for folder in found if folder.is_dir()]


def processor(cache: Cache) -> hosts.Processor:
    """Return LLVM's description of this machine's processor, from the cache if it is there."""
    key = Key.of("processor", identity=hosts.identity())
    kept = cache.get(key)
    if kept is not None:
        words = kept.decode().split("\n")
        if len(words) == 3:
            return hosts.Processor(*words)
    found = hosts.detect()
    cache.put(key, "\n".join(map(str, as_dict(found).values())).encode())
    return found
