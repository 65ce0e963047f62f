"""Links between files, the current folder, and products of integers that lose no bit."""

from std.os import chdir, link, symlink, remove, listdir
from std.os.path import exists, islink, isfile
from std.pathlib import Path
from std.tempfile import TemporaryDirectory
from std.math import mulhi, mulwide


def of_files() raises:
    with TemporaryDirectory() as folder:
        var first = Path(folder) / "first.txt"
        first.write_text("text")
        link(first, Path(folder) / "second.txt")
        symlink("first.txt", String(folder, "/third.txt"))
        remove(first)
        print(
            (Path(folder) / "second.txt").read_text(),
            exists(String(folder, "/third.txt")),
            islink(String(folder, "/third.txt")),
        )
        chdir(folder)
        print(len(listdir(".")), isfile("second.txt"))
        remove("third.txt")
        chdir("/")
    try:
        chdir("/no/such/folder")
    except e:
        print(e)
    try:
        link("/no/such/file", "/no/such/other")
    except e:
        print(e)
    try:
        symlink("a", "/no/such/folder/b")
    except e:
        print(e)


def main() raises:
    of_files()
    print(
        mulhi(UInt32(0xFFFFFFFF), UInt32(2)),
        mulhi(Int32(-5), Int32(7)),
        mulhi(Int32(1 << 30), Int32(8)),
    )
    print(mulhi(UInt64(1) << 63, UInt64(6)), mulhi(Int64(-1) << 62, Int64(8)))
    print(mulwide(UInt32(0xFFFFFFFF), UInt32(3)), mulwide(Int32(-5), Int32(7)))
