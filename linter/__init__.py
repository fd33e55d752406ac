"""How code is read: the screen, the interpreter, the front ends."""
