"""Exceptions. Each class also derives from the matching built-in exception, where there is one."""


class RanlabError(Exception):
    """Any error of ranlab; the text names the fault and what is allowed."""


class ConfigError(RanlabError, ValueError):
    """A setting, name or value that is not allowed."""


class EnvironmentLacksError(RanlabError, OSError):
    """A requirement of the machine or the network is missing, for example a free address or a reachable controller."""


class ConnectionFailedError(RanlabError, ConnectionError):
    """There is no connection to the RIC, or it was lost before the response arrived."""


class RefusedError(RanlabError):
    """A RIC or base station refused a request. The text has its cause, ``octets`` the control outcome if it sent one."""

    octets: "bytes | None" = None


class UnansweredError(RanlabError, TimeoutError):
    """No response arrived before the time limit."""


class ClosedError(RanlabError):
    """The object is closed."""


class CampaignError(RanlabError):
    """A campaign could not be run, or one of its expectations does not hold; ``code`` is the exit code of ``bench run``."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code
