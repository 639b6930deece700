"""Who asks: what a coordinator needs to know about a request beside the request itself."""

from __future__ import annotations


class Caller:
    """The client behind a request, as the server knows it."""

    __slots__ = ("api_version", "client_host", "client_id", "connection", "principal")

    def __init__(
        self,
        client_id: str,
        client_host: str,
        api_version: int,
        principal: str = "User:ANONYMOUS",
        connection: int = 0,
    ) -> None:
        self.client_id = client_id
        self.client_host = client_host
        self.api_version = api_version
        self.principal = principal
        self.connection = connection
        """The number of its connection here."""
