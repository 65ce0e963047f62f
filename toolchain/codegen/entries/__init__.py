"""What a driver starts: kernel entries for each kind of target, and the heads of functions."""
