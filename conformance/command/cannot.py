"""What ends a check without a verdict."""


class CannotCheck(Exception):  # noqa: N818 - a sentence about the check
    """The check cannot be made as asked. The message is one line that says what to do; the exit code is 2."""
