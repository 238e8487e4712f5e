"""The one exception for what a reader can do wrong: a name, a file, a machine."""


class Refused(Exception):
    """The message is one sentence. scripts/figures.py prints it and exits with status 2."""
