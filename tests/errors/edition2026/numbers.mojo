"""Numbers of different types, which edition 2026 does not convert without a word."""


def takes(x: Int64):
    print(x)


def main():
    var i = 3
    var u: UInt = 4
    var j: Int32 = 5
    var f = Float64(2.0)
    takes(i)  # error@11: type-mismatch "has the type 'Int', but 'Int64' is expected"
    var a: Float64 = i  # error@22: type-mismatch "'Int' does not convert to 'Float64'"
    var b: UInt = i  # error@19: type-mismatch "'Int' does not convert to 'UInt'"
    print(f * i)  # error@11: type-mismatch "'*' does not accept 'Float64' and 'Int'"
    print(i + u)  # error@11: type-mismatch "'+' does not accept 'Int' and 'UInt'"
    print(i < j)  # error@11: type-mismatch "'<' does not accept 'Int' and 'Int32'" help "write 'Int(…)' around the 'Int32'"
    print(a, b)
    if i == Int32(3) and u == 4:  # error@8: type-mismatch "'==' does not accept"
        pass
