"""`python -m ktc` is `ktc`."""

from ktc.cli import entry

if __name__ == "__main__":
    entry()
