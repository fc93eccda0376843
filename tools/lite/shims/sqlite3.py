"""A browser has no SQLite. IPython imports it for its history, which JupyterLite's kernel doesn't keep."""

PARSE_DECLTYPES = 1
PARSE_COLNAMES = 2
sqlite_version = "0"


class Error(Exception):
    """What SQLite's errors are made of."""


class DatabaseError(Error):
    """A file that can't be read."""


class OperationalError(DatabaseError):
    """What `connect` raises."""


class IntegrityError(DatabaseError):
    """Raised by nothing here."""


class Connection:
    """What `connect` would give."""


def connect(*args: object, **kwargs: object) -> Connection:
    raise OperationalError("there's no SQLite in a browser")


def register_adapter(*args: object) -> None:
    pass


def register_converter(*args: object) -> None:
    pass
