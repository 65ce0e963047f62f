"""The folder of the library is no package of edition 2026."""

from stdlib.math import sqrt  # error@6: module-not-found "stdlib"


def main():
    print(sqrt(4.0))
