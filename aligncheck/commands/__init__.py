"""One module per subcommand: what it reads, what it prints, its exit status. Imported when it is run."""


class CommandError(Exception):
    """The command cannot be carried out; the message is for the user. Exit status 2."""
