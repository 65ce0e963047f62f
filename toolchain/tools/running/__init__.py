"""`ktc run`: how a program is compiled and started, once or after each save."""
