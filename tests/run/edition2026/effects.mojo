def f(imm x: Int, imm: Int) raises -> Int:
    if x == imm:
        raise Error("same")
    return x


def main():
    comptime N = 3
    try:
        print(f(N, 2))
        print(f(N, 3))
    except e:
        print("caught", e)
    assert N == 3, "three"
    comptime for i in range(2):
        print(i)
