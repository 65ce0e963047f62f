"""`ktc tune`: candidates, how they are built, measured and compared, and the results that are kept.

Input: a program with choices (`tuning.tunable`). Output: a tuning file (`config/tuned.py`).
"""
