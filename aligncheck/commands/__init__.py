"""One module per subcommand: what it reads, what it prints, its exit status. Imported when it is run."""


class CommandError(Exception):
    """The command cannot be carried out; the message is for the user, and so is `help`. Exit status 2."""

    def __init__(self, message: str, help_: str | None = None) -> None:
        super().__init__(message)
        self.help = help_
