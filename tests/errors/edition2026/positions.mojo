"""Positions that edition 2026 refuses: of a text without a unit, and negative ones."""


def main():
    var s = String("abc")
    print(s[0])  # error@11: not-callable "a text has no plain index: write 's[byte=i]', 's[codepoint=i]' or 's[grapheme=i]'"
    print("abc"[0:2])  # error@11: not-callable "a text has no plain range: write 's[byte=a:b]' or 's[codepoint=a:b]'"
    print(len(s))  # error@11: not-callable "write 's.byte_length()', 's.count_codepoints()' or 's.count_graphemes()'"
    var l: List[Int] = [1, 2]
    print(l[-1])  # error@11: unsatisfied-constraint "a position counts from the start"
    var a = [1, 2]
    a.append(3)  # error@7: no-member "has no member 'append'"
    _ = List[Int](1, 2, 3)  # error@9: no-matching-overload "no constructor of 'List' accepts these arguments"
