"""ranlab for Python: xApps, a RIC and emulated base stations in this process, campaigns, and the complete command line.

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
    BeforeAfter,
    Change,
    Effect,
    Handover,
    Kpm,
    Node,
    NodeFunction,
    Offer,
    QosFlows,
    Report,
    SliceQuota,
    Subscription,
    Xapp,
)

__all__ = [
    "Acknowledged",
    "BeforeAfter",
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
    "Kpm",
    "Node",
    "NodeFunction",
    "Offer",
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
