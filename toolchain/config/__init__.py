"""Options and environment to one frozen `Config`. Nothing else reads the environment.

Input: `Options`, unset ones None, as the command line gave them. Output: `Config`, every field concrete, targets as
objects. Facts about this machine that take long to find (its processor, its GPUs) are kept in the cache.
"""

from ktc.base.library import stdlib_folder
from ktc.config.environment import (
    PREBUILT,
    cache_folder,
    color_enabled,
    environment_with,
    open_cache,
    processors,
    project_file,
)
from ktc.config.machine import installed_packages, local_gpus, processor
from ktc.config.options import (
    CHECKED_LEVEL,
    DEBUG_LEVELS,
    DEFAULT_LEVEL,
    DIAGNOSTIC_FORMATS,
    EMIT_KINDS,
    FULL_DEBUG,
    LIBRARIES,
    OFFLOAD_MODES,
    SUFFIXES,
    WITH_OR_WITHOUT_MAIN,
    Config,
    Options,
)
from ktc.config.resolution import resolve

__all__ = (
    "CHECKED_LEVEL",
    "DEBUG_LEVELS",
    "DEFAULT_LEVEL",
    "DIAGNOSTIC_FORMATS",
    "EMIT_KINDS",
    "FULL_DEBUG",
    "LIBRARIES",
    "OFFLOAD_MODES",
    "PREBUILT",
    "SUFFIXES",
    "WITH_OR_WITHOUT_MAIN",
    "Config",
    "Options",
    "cache_folder",
    "color_enabled",
    "environment_with",
    "installed_packages",
    "local_gpus",
    "open_cache",
    "processor",
    "processors",
    "project_file",
    "resolve",
    "stdlib_folder",
)  # fmt: skip
