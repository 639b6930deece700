"""Certificates for tests: an authority, and what it signs, as PEM and PKCS12."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Signed:
    """A key with its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    def key_pem(self, password: bytes | None = None) -> bytes:
        kind = NoEncryption() if password is None else BestAvailableEncryption(password)
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, kind)

    def pem(self, password: bytes | None = None) -> bytes:
        """Key and certificate, as a PEM keystore holds them."""
        return self.key_pem(password) + self.certificate_pem

    def pkcs12(self, password: bytes, authority: Authority | None = None) -> bytes:
        others = [authority.own.certificate] if authority else None
        kind = BestAvailableEncryption(password)
        return pkcs12.serialize_key_and_certificates(b"me", self.key, self.certificate, others, kind)


class Authority:
    """Signs certificates, itself included."""

    def __init__(self, name: str = "Test authority") -> None:
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.own = Signed(self._key, self._sign(self._name, self._key, [], authority=True))

    @property
    def pem(self) -> bytes:
        return self.own.certificate_pem

    def pkcs12(self, password: bytes) -> bytes:
        """A truststore: certificates without a key."""
        kind = BestAvailableEncryption(password)
        return pkcs12.serialize_key_and_certificates(b"ca", None, None, [self.own.certificate], kind)

    def sign(self, name: str, *addresses: str) -> Signed:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return Signed(key, self._sign(subject, key, list(addresses), authority=False))

    def revoked(self, *withdrawn: Signed) -> bytes:
        """A list of certificates that are believed no longer, PEM."""
        begun = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
        builder = x509.CertificateRevocationListBuilder().issuer_name(self._name)
        builder = builder.last_update(begun).next_update(begun + datetime.timedelta(days=1))
        for one in withdrawn:
            entry = x509.RevokedCertificateBuilder().serial_number(one.certificate.serial_number)
            builder = builder.add_revoked_certificate(entry.revocation_date(begun).build())
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, addresses: list[str], *, authority: bool
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if authority:
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        if addresses:
            names = [
                x509.IPAddress(ipaddress.ip_address(one)) if one[0].isdigit() else x509.DNSName(one)
                for one in addresses
            ]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())
