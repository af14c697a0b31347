"""What can go wrong. Each class is also the one of Python's own that people catch."""


class RanlabError(Exception):
    """Any fault that ranlab tells of; the text names it, and what is allowed."""


class ConfigError(RanlabError, ValueError):
    """A setting, name or value that is not allowed."""


class EnvironmentLacksError(RanlabError, OSError):
    """The machine or the network lacks something: an address in use, a controller that is not there."""


class ConnectionFailedError(RanlabError, ConnectionError):
    """There is no connection to the RIC, or it was lost before the answer came."""


class RefusedError(RanlabError):
    """A RIC or a base station said no; the text has its cause, ``octets`` its own words if it had any."""

    octets: "bytes | None" = None


class UnansweredError(RanlabError, TimeoutError):
    """Nobody answered in time."""


class ClosedError(RanlabError):
    """The object is closed."""


class CampaignError(RanlabError):
    """A campaign could not be run, or an expectation of it does not hold; ``code`` is the exit code of ``bench run``."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code
