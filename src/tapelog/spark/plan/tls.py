"""ssl.*, as Java clients write it, into what the client takes: PEM and PKCS12; JKS is told how it is converted.

The same words stand under `kafka.ssl.` and, for an OAuth server, in the JAAS entry: `Ssl` hides the difference. No file
is opened here: the client opens it where it runs, on executors, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tapelog.client.secret import Secret
from tapelog.client.settings import Store, Tls
from tapelog.spark.plan.errors import OptionError

VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
_PEM_ENDINGS: Final = (".pem", ".crt", ".cer", ".cert", ".key", ".ca-bundle")
_PKCS12_ENDINGS: Final = (".p12", ".pfx", ".pkcs12")


@dataclass(frozen=True, slots=True)
class Ssl:
    """Where ssl.* options stand: how to read one, and how to name one in a message."""

    read: Callable[[str], str | None]
    """The value of `ssl.…`, None where it was not given."""
    prefix: str

    def text(self, name: str) -> str | None:
        """A value without blanks around it; empty counts as not given."""
        return (self.read(name) or "").strip() or None

    def secret(self, name: str) -> Secret | None:
        """A value that is not shown; empty counts as not given."""
        value = self.read(name)
        return Secret(value) if value else None

    def named(self, name: str) -> str:
        """The option's name in a message."""
        return self.prefix + name


def tls_settings(ssl: Ssl) -> Tls:
    """TLS as these options want it."""
    low, high = _versions(ssl)
    return Tls(
        trust=_trust(ssl),
        identity=_identity(ssl),
        verify_host=_verifies(ssl),
        version_min=low,
        version_max=high,
        ciphers=_ciphers(ssl),
    )


def _trust(ssl: Ssl) -> Store | None:
    path, inline = ssl.text("ssl.truststore.location"), ssl.secret("ssl.truststore.certificates")
    password = ssl.secret("ssl.truststore.password")
    if inline is not None:
        _only(ssl, path is None, "ssl.truststore.location", "ssl.truststore.certificates")
        _only(ssl, password is None, "ssl.truststore.password", "ssl.truststore.certificates")
        return Store(content=inline)
    if path is None:
        return None
    if _kind(ssl, "truststore", path) == "PEM":
        _only(ssl, password is None, "ssl.truststore.password", "a PEM file")
        return Store(path=path)
    return Store(path=path, pkcs12=True, password=password)


def _identity(ssl: Ssl) -> Store | None:
    path, key = ssl.text("ssl.keystore.location"), ssl.secret("ssl.keystore.key")
    chain, password = ssl.secret("ssl.keystore.certificate.chain"), ssl.secret("ssl.keystore.password")
    key_password = ssl.secret("ssl.key.password")
    if key is not None or chain is not None:
        if key is None or chain is None:
            missing = "ssl.keystore.key" if key is None else "ssl.keystore.certificate.chain"
            raise OptionError(f"Option {ssl.named(missing)} is missing: a key and its certificates go together.")
        _only(ssl, path is None, "ssl.keystore.location", "ssl.keystore.key")
        _only(ssl, password is None, "ssl.keystore.password", "ssl.keystore.key (use ssl.key.password)")
        return Store(content=Secret(key.data() + b"\n" + chain.data()), password=key_password)
    if path is None:
        return None
    if _kind(ssl, "keystore", path) == "PEM":
        _only(ssl, password is None, "ssl.keystore.password", "a PEM file (use ssl.key.password)")
        return Store(path=path, password=key_password)
    if password is None:
        raise OptionError(
            f"Option {ssl.named('ssl.keystore.password')} is missing: {ssl.named('ssl.keystore.location')} is set."
        )
    if key_password is not None and key_password != password:
        raise OptionError(
            f"Option {ssl.named('ssl.key.password')} differs from {ssl.named('ssl.keystore.password')}.",
            "A PKCS12 file has one password for both: set them to the same, or leave ssl.key.password out.",
        )
    return Store(path=path, pkcs12=True, password=password)


def _kind(ssl: Ssl, store: str, path: str) -> str:
    """PEM or PKCS12; without a type the file's name decides, and Java's JKS takes PKCS12 files, too."""
    name = f"ssl.{store}.type"
    kind = (ssl.text(name) or "").upper()
    if kind in ("PEM", "PKCS12"):
        return kind
    if kind not in ("", "JKS"):
        raise OptionError(f"Option {ssl.named(name)} must be PEM or PKCS12.")
    if path.lower().endswith(_PKCS12_ENDINGS):
        return "PKCS12"
    if not kind and path.lower().endswith(_PEM_ENDINGS):
        return "PEM"
    raise OptionError(
        f"Option {ssl.named(f'ssl.{store}.location')} names a Java keystore (JKS). Only Java reads those; convert it:",
        f"keytool -importkeystore -srckeystore {path} -destkeystore {_sibling(path)} -deststoretype PKCS12",
        f"then set {ssl.named(f'ssl.{store}.location')} to that file and {ssl.named(name)} to PKCS12"
        " (or only the type, if it is PEM or PKCS12 already).",
    )


def _sibling(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return folder + slash + (name.rpartition(".")[0] or name) + ".p12"


def _only(ssl: Ssl, fine: bool, name: str, other: str) -> None:
    if not fine:
        beside = ssl.named(other) if other.startswith("ssl.") else other
        raise OptionError(f"Option {ssl.named(name)} does not go with {beside}.", "Leave one of them out.")


def _verifies(ssl: Ssl) -> bool:
    value = ssl.read("ssl.endpoint.identification.algorithm")
    if value is not None and value.strip().lower() not in ("", "https"):
        name = ssl.named("ssl.endpoint.identification.algorithm")
        raise OptionError(f"Option {name} must be https, or empty to accept a certificate for another host.")
    return value is None or bool(value.strip())


def _versions(ssl: Ssl) -> tuple[str, str]:
    enabled = ssl.text("ssl.enabled.protocols")
    if enabled is None:
        return VERSIONS[0], VERSIONS[-1]
    wanted = {word.strip().lower() for word in enabled.split(",")}
    usable = [version for version in VERSIONS if version.lower() in wanted]
    if not usable:
        raise OptionError(f"Option {ssl.named('ssl.enabled.protocols')} must have one of {' and '.join(VERSIONS)}.")
    return usable[0], usable[-1]


def _ciphers(ssl: Ssl) -> str:
    names = [word.strip() for word in (ssl.text("ssl.cipher.suites") or "").split(",") if word.strip()]
    return ":".join(filter(None, (_openssl(ssl, name) for name in names)))


def _openssl(ssl: Ssl, name: str) -> str:
    """A TLS 1.2 suite in OpenSSL's words; those of TLS 1.3 are always on, and give nothing."""
    exchange, with_, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if not with_:
        if name.startswith(("TLS_AES_", "TLS_CHACHA20_")):
            return ""
        raise OptionError(f"Option {ssl.named('ssl.cipher.suites')} has a suite that is not known: {name[:60]!r}.")
    if cipher.startswith("CHACHA20"):
        cipher = cipher.removesuffix("_SHA256")
    cipher = cipher.replace("AES_", "AES").replace("_CBC", "").replace("_", "-")
    return cipher if exchange == "RSA" else f"{exchange.replace('_', '-')}-{cipher}"
