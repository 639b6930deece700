"""Where history lies, by option: the tier's URL and what its store must be told. Off unless tier.url is given.

Names follow the broker's tapelog.tier.url. What is not given is taken from the environment of driver and executors, as
the stores' vendors do it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tapelog.client.secret import Secret
from tapelog.spark.plan.errors import DOCS, OptionError
from tapelog.spark.plan.given import Given

SCHEMES: Final = ("file", "s3", "gs", "az")
KEYS: Final[dict[str, tuple[str, str]]] = {
    "tier.region": ("s3", "region"),
    "tier.accessKeyId": ("s3", "access_key_id"),
    "tier.secretAccessKey": ("s3", "secret_access_key"),
    "tier.sessionToken": ("s3", "session_token"),
    "tier.serviceAccountKey": ("gs", "service_account_key"),
    "tier.accountName": ("az", "account_name"),
    "tier.accountKey": ("az", "account_key"),
    "tier.sasToken": ("az", "sas_key"),
}
"""Options of one kind of store each, and what its client calls them."""

_OPEN: Final = ("tier.region", "tier.accountName")
"""Those that may be seen; all others are secrets."""


@dataclass(frozen=True, slots=True)
class TierSettings:
    """A tier and how to reach it: hashed, compared, and pickled to executors."""

    url: str
    endpoint: str = ""
    keys: tuple[tuple[str, Secret], ...] = ()
    """What the store's client is told, by its names."""

    @property
    def scheme(self) -> str:
        """file, s3, gs or az."""
        return self.url.partition("://")[0]


def tier_settings(given: Given) -> TierSettings | None:
    """The tier that the options name; None if they name none."""
    url = given.text("tier.url")
    others = [name for name in ("tier.endpoint", *KEYS) if given.has(name)]
    if url is None:
        if others:
            raise OptionError(
                f"Option {others[0]} says how to reach a tier, but tier.url does not say which.",
                "Set tier.url to what the brokers have as tapelog.tier.url, e.g. s3://bucket/prefix.",
            )
        return None
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in SCHEMES or not rest.strip("/"):
        raise given.wrong("tier.url", "file:///directory, s3://bucket/prefix, gs://bucket/prefix or az://container")
    keys: list[tuple[str, Secret]] = []
    for name, (kind, key) in KEYS.items():
        value = given.raw(name)
        if value is None:
            continue
        if kind != scheme:
            raise OptionError(f"Option {name} is for {kind}://…, but tier.url begins with {scheme}://.", f"See {DOCS}.")
        keys.append((key, Secret(value.strip() if name in _OPEN else value)))
    return TierSettings(url.rstrip("/"), given.text("tier.endpoint") or "", tuple(keys))
