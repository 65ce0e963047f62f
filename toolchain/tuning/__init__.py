"""`ktc tune`: candidates, how they are built, measured and compared, and what is kept of it.

In: a program with choices (`tuning.tunable`). Out: a tuning file (`config/tuned.py`).
"""
