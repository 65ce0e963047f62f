"""Texts are addressed by bytes, code points and grapheme clusters; iteration gives clusters."""


def codes(text: String) -> String:
    """Returns the clusters of a text, each as the numbers of its code points."""
    var result = String()
    for cluster in text:
        result += "["
        for one in cluster.codepoints():
            result.write(hex(Int(one)), " ")
        result += "]"
    return result


def same_backwards(text: String) -> Bool:
    """Whether the clusters from the end are those from the start."""
    var forward: List[String] = []
    for cluster in text.graphemes():
        forward.append(String(cluster))
    for cluster in text.graphemes_reversed():
        if forward.pop() != String(cluster):
            return False
    return len(forward) == 0


struct Count(Writer):
    """A writer needs `write_string` only."""

    var bytes: Int

    def __init__(out self):
        self.bytes = 0

    def write_string(mut self, text: StringSpan):
        self.bytes += text.byte_length()


def literals():
    """Literals have the methods of texts."""
    for c in "né".codepoint_slices():
        print(c, end=".")
    for c in "ab".codepoint_slices_reversed():
        print(c, end=".")
    for c in "é".codepoints():
        print(Int(c), end=".")
    print("naïve".count_codepoints(), "12".is_ascii_digit(), "x1".is_ascii_digit())
    print("{} and {}".format(1, "b"), "{1}{0!r}{{}}".format("x", 2.5))
    var count = Count()
    count.write("hello", 1, 2.5, True)
    print(count.bytes)
    print("x".ascii_rjust(4, "."), "x".ascii_ljust(3, "-"), "x".ascii_center(5, "*"))


def main() raises:
    literals()
    var s = String("naïve e\u0301x 👨‍👩‍👧🇩🇪🇫🇷")
    print(s.byte_length(), s.count_codepoints(), s.count_graphemes(), len(s.graphemes()), len(s.codepoints()))
    for g in s:
        print(g, end="|")
    print()
    for at, g in s.grapheme_indices():
        print(at, g, end="|")
    print()
    for g in s.codepoint_slices_reversed():
        print(g, end="|")
    print()
    print(s[byte=0], s[byte=1:], s[byte=:2], s[byte=2], "abc"[byte=1], StringSpan("hello")[byte=1:3])
    print(s[codepoint=2], s[codepoint=2:5], s[codepoint=4:], s[grapheme=6], s[grapheme=0])
    var head, tail = s.split_at_grapheme(3)
    print(head, tail, sep="/")
    # a CR and LF, Hangul, a linked consonant, a prefix, a spacing mark, three flags, a skin tone, a joiner behind a letter
    for text in [
        "\r\n\n",
        "\u1112\u1161\u11ab\uac00\u11a8",
        "\u0915\u094d\u0937",
        "\u0600a",
        "\u0915\u0903",
        "\U0001F1E9\U0001F1EA\U0001F1EB",
        "\U0001F44B\U0001F3FD",
        "a\u200d\U0001F600",
    ]:
        print(codes(text), same_backwards(text))
    print(same_backwards(s), same_backwards(""))
    for b in String("AZ").bytes():
        print(b, end=" ")
    print(String("ab").ascii_ljust(4), String("ab").ascii_rjust(4, "*"), String("ab").ascii_center(6, "-"), sep="|")
    var t = String(1, 2.5, "x", True, sep="-", end="!")
    t += "abc"
    t.append(Codepoint.ord("é"))
    t.write(1, " ", 2)
    print(t, t.capacity_bytes() >= t.byte_length(), String(" \t").is_ascii_whitespace())
    print(",".join([1, 2]), String("-").join(["a", "b"]), StringSpan("+").join(List(["c", "d"])))
    print("{} {!r} {}".format("a", "b", [1, 2]))
