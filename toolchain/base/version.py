"""The version; a test compares it with pyproject.toml. (Asking the installed package costs 25 ms in each command.)"""

VERSION = "0.1.0"
