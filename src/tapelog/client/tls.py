"""TLS: from `Tls` settings to an SSLContext. PEM by OpenSSL itself; PKCS12 by `cryptography`, where it is installed.

OpenSSL takes a private key only from a file; content that was given as such goes through memory that looks like one
and is gone after it was read.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tapelog.client.errors import TlsError
from tapelog.client.settings import Store, Tls

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

STORE_BYTES_MAX: Final = 16 * 1024 * 1024
"""No file of certificates is larger."""

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def context(tls: Tls) -> ssl.SSLContext:
    """The context for connections with these settings; TlsError if a file is missing or unusable."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = tls.verify_host
    made.verify_mode = ssl.CERT_REQUIRED
    try:
        made.minimum_version = _VERSIONS[tls.version_min]
        made.maximum_version = _VERSIONS[tls.version_max]
    except KeyError as error:
        raise TlsError(
            f"TLS has no version {error} here", "option ssl.enabled.protocols", "use TLSv1.2 or TLSv1.3"
        ) from None
    if tls.ciphers:
        try:
            made.set_ciphers(tls.ciphers)
        except ssl.SSLError:
            raise TlsError(
                "OpenSSL knows none of these ciphers", f"option ssl.cipher.suites: {tls.ciphers}", "leave it out"
            ) from None
    _trust(made, tls.trust)
    if tls.identity is not None:
        _identify(made, tls.identity)
    return made


def _trust(made: ssl.SSLContext, trust: Store | None) -> None:
    if trust is None:
        made.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return
    if trust.directory:
        made.load_verify_locations(capath=trust.path)
        return
    data = _content(trust, "truststore")
    try:
        if trust.pkcs12:
            made.load_verify_locations(cadata=b"".join(_pkcs12_certificates(trust, data)))
        else:
            made.load_verify_locations(cadata=data.decode("ascii", "replace"))
    except ssl.SSLError as error:
        raise _unusable(trust, "truststore", error.reason or str(error)) from None


def _identify(made: ssl.SSLContext, identity: Store) -> None:
    data = _content(identity, "keystore")
    password = identity.password
    if identity.pkcs12:
        data, password = _pkcs12_identity(identity, data), None
    # a callback, or OpenSSL would ask on the terminal for the password of an encrypted key
    given = password.text() if password is not None else ""
    with _as_file(data) as path:
        try:
            made.load_cert_chain(path, password=lambda: given)
        except (ssl.SSLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or str(error) or "unreadable"
            raise _unusable(identity, "keystore", reason) from None


def _content(store: Store, kind: str) -> bytes:
    if store.content is not None:
        return store.content.data()
    try:
        with open(store.path, "rb") as file:
            data = file.read(STORE_BYTES_MAX + 1)
    except OSError as error:
        raise TlsError(
            f"the {kind} cannot be read: {error.strerror}",
            f"option ssl.{kind}.location: {store.path}",
            "put the file there on the driver and on every executor",
        ) from None
    if len(data) > STORE_BYTES_MAX:
        raise _unusable(store, kind, "too large")
    if data.startswith((b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")):
        raise TlsError(
            f"the {kind} is in Java's own format (JKS)",
            f"option ssl.{kind}.location: {store.path}",
            "convert it: keytool -importkeystore -srckeystore OLD -destkeystore NEW.p12 -deststoretype PKCS12",
        )
    return data


def _unusable(store: Store, kind: str, reason: str) -> TlsError:
    return TlsError(
        f"the {kind} cannot be used: {reason.lower().replace('_', ' ')}",
        f"option ssl.{kind}.location: {store.path}" if store.path else f"the {kind} given in the options",
        f"check that it is {'PKCS12' if store.pkcs12 else 'PEM'} and whole, and its password",
    )


@contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """A path from which these bytes can be read, for nobody else and not for long."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("tapelog", os.MFD_CLOEXEC)
        try:
            os.write(handle, data)
            yield f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            yield file.name


def _pkcs12_certificates(store: Store, data: bytes) -> list[bytes]:
    """The certificates of a PKCS12 file, DER."""
    found = _pkcs12(store, data, "truststore")
    from cryptography.hazmat.primitives.serialization import Encoding

    own = [found.cert.certificate] if found.cert is not None else []
    return [one.public_bytes(Encoding.DER) for one in [*own, *(more.certificate for more in found.additional_certs)]]


def _pkcs12_identity(store: Store, data: bytes) -> bytes:
    """Key and chain of a PKCS12 file, PEM."""
    found = _pkcs12(store, data, "keystore")
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if found.key is None or found.cert is None:
        raise _unusable(store, "keystore", "no key with its certificate is in it")
    parts = [found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())]
    parts.append(found.cert.certificate.public_bytes(Encoding.PEM))
    parts += [more.certificate.public_bytes(Encoding.PEM) for more in found.additional_certs]
    return b"".join(parts)


def _pkcs12(store: Store, data: bytes, kind: str) -> PKCS12KeyAndCertificates:
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise TlsError(
            "PKCS12 files need the package cryptography",
            f"option ssl.{kind}.type",
            "pip install tapelog[pkcs12], or convert it: openssl pkcs12 -in FILE -nodes -out FILE.pem",
        ) from None
    password = store.password.data() if store.password is not None else None
    try:
        return load_pkcs12(data, password)
    except ValueError:
        raise _unusable(store, kind, "it is no PKCS12 file, or the password is wrong") from None
