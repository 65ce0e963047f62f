"""`ktc tune`: candidates, how they are built, measured and compared, and what is kept of it.

Input: a program with choices (`tuning.tunable`). Output: a tuning file (`config/tuned.py`).
"""
