"""A program to objects: the host, its images, and kernels of the CPU device."""

from ktc.codegen.globals import image_constants
from ktc.codegen.source_places import place_definitions
from ktc.codegen.values.constants import ImagesNeeded
from ktc.driver.session import Session
from ktc.driver.units import host_objects, kernel_images
from ktc.driver.units.host_objects import EarlyHost
from ktc.emit import device
from ktc.ir.nodes import Program


def compile_program(session: Session, program: Program, early: EarlyHost) -> tuple[bytes, ...]:
    """Return the host's object, one of the images if there are any, and those of kernels for the CPU."""
    workers, unit, entry = early.workers, program.host, program.entry
    if early.archive is not None:
        early.archive.compile(unit.apart, workers)
    try:
        started = early.object_of(unit) or host_objects.start(session, unit, entry, None, workers)
    except ImagesNeeded:
        images, natives = kernel_images.compile_kernels(session, program, workers)
        return (
            *host_objects.finish(session, host_objects.start(session, unit, entry, images, workers), workers),
            *natives,
        )
    images, natives = kernel_images.compile_kernels(session, program, workers)
    constants, places = image_constants(program.host, images), place_definitions(program.host)
    held: tuple[bytes, ...] = ()
    if constants or places:
        ticket = workers.submit(device.data_job(program.host.target, constants, places))
        held = (bytes(workers.result(ticket)),)
        session.timeline.job(workers.usage[ticket])
    return (*host_objects.finish(session, started, workers), *held, *natives)


def look_up(session: Session, program: Program) -> None:
    """Look every unit up in the cache, and compile none."""
    kernel_images.look_up(session, program)
    host_objects.look_up(session, program.host, program.entry)
