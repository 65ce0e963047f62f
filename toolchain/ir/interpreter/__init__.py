"""The interpreter of the IR: functions as Python code over a simulated memory."""
