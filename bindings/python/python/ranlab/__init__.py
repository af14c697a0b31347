"""ranlab for Python: xApps, a RIC and emulated base stations in the process, campaigns, the whole command line.

>>> with ranlab.Ric() as ric, ranlab.Fleet(ric.e2, nodes=10, ues=4) as fleet, ranlab.Xapp(ric.e42) as xapp:
...     for report in xapp.subscribe("mac", period_ms=100):
...         print(report.node, [(row.ue, row.wb_cqi) for row in report.rows])
"""

from . import campaign, cli, models
from .campaign import Campaign
from .errors import (
    CampaignError,
    ClosedError,
    ConfigError,
    ConnectionFailedError,
    EnvironmentLacksError,
    RanlabError,
    RefusedError,
    UnansweredError,
)
from .lab import Fleet, Ric
from .xapp import (
    Acknowledged,
    Change,
    Effect,
    Handover,
    Node,
    NodeFunction,
    QosFlows,
    Report,
    SliceQuota,
    Subscription,
    Xapp,
)

__all__ = [
    "Acknowledged",
    "Campaign",
    "CampaignError",
    "Change",
    "ClosedError",
    "ConfigError",
    "ConnectionFailedError",
    "Effect",
    "EnvironmentLacksError",
    "Fleet",
    "Handover",
    "Node",
    "NodeFunction",
    "QosFlows",
    "RanlabError",
    "RefusedError",
    "Report",
    "Ric",
    "SliceQuota",
    "Subscription",
    "UnansweredError",
    "Xapp",
    "campaign",
    "cli",
    "models",
]
