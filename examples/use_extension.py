"""Uses the module that `ktc build --emit python-extension examples/extension.kpy` makes."""

from array import array

import extension

values = array("d", [1, 2, 3, 4])
print("mean:", extension.mean(values, len(values)))
extension.standardise(values, len(values))
print("standardised:", *(round(value, 3) for value in values))
try:
    extension.mean(values, 0)
except ValueError as error:
    print("error:", error)
