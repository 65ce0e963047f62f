"""Writes garden.ppm, the test image of grayscale.kpy and downsample.kpy: always the same bytes."""

from pathlib import Path

WIDTH = 160
HEIGHT = 120


def pixel(x: int, y: int) -> bytes:
    """Return red, green and blue of one pixel: a sky, a sun, hills, and stripes of flowers."""
    if (x - 118) ** 2 + (y - 28) ** 2 < 16**2:
        return bytes((250, 214, 60 + 4 * (y - 12)))
    hill = 70 + (x - 40) ** 2 // 400 - (x * x * 7 % 5)
    if y < hill:
        return bytes((90 + y, 140 + y, 235 - y // 2))
    if (x // 6 + y // 5) % 4 == 0:
        return bytes((200 - x // 2, 40 + (x * y) % 60, 90 + y // 2))
    return bytes((40 + (x * 13 + y * 7) % 40, 120 + (x * 5 + y * 11) % 60, 50))


def main() -> None:
    """Write the image beside this file."""
    pixels = b"".join(pixel(x, y) for y in range(HEIGHT) for x in range(WIDTH))
    header = f"P6\n{WIDTH} {HEIGHT}\n255\n".encode()
    Path(__file__).with_name("garden.ppm").write_bytes(header + pixels)


if __name__ == "__main__":
    main()
