"""What a struct has of its traits beside methods of its own. In: a struct and its traits. Out: more overloads."""

from collections.abc import Sequence

from ktc.elaborate.model.declarations import FnInfo, FnSet, StructInfo, TraitInfo

SYNTHESISED = frozenset(("__init__", "__copyinit__", "__moveinit__", "__del__", "copy"))
"""Methods that a struct may have without writing them."""


def defaults_of(name: str, members: Sequence[object], taken: set[int]) -> FnSet | None:
    """Return the methods that traits give, the first trait's of those that take the same number of arguments.

    Args:
        members: what the traits have of that name.
        taken: numbers of arguments that methods of the struct take.
    """
    found: list[FnInfo] = []
    for member in members:
        if isinstance(member, FnSet):
            more = [fn for fn in member.functions if fn.node.body is not None and len(fn.node.args) not in taken]
            if not found and len(more) == len(member.functions) and len(members) == 1:
                return member
            found += more
            taken = taken | {len(fn.node.args) for fn in more}
    return FnSet(name, found) if found else None


def add_defaults(info: StructInfo, traits: tuple[TraitInfo, ...]) -> None:
    """Give a struct's methods those of its traits beside them that take another number of arguments."""
    for name, own in info.members.items():
        if isinstance(own, FnSet) and name not in SYNTHESISED:
            members = [trait.members[name] for trait in traits if name in trait.members]
            more = defaults_of(name, members, {len(fn.node.args) for fn in own.functions})
            if more is not None:
                info.members[name] = FnSet(name, [*own.functions, *more.functions])
