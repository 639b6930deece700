"""ApiVersions, versions 0 to 4: the routes of the listener that was asked, and the features of the cluster.

A version we do not know is answered in version 0 with UNSUPPORTED_VERSION (see dispatch), so that the client can try
again. Names of client software must be sensible (KIP-511), else INVALID_REQUEST.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapelog.server.call import Call
from tapelog.server.handlers import raft_fetch
from tapelog.server.routes import ON_BOTH, ON_CONTROLLER, served
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from tapelog.wire.messages.fetch_request import FetchRequest

if TYPE_CHECKING:
    from tapelog.server.node_api import NodeApi


def handle(node: NodeApi, call: Call, request: ApiVersionsRequest) -> None:
    """Answer with everything this node serves."""
    if call.version >= 3 and not (_plain(request.client_software_name) and _plain(request.client_software_version)):
        call.reply(ApiVersionsResponse(error_code=int(ErrorCode.INVALID_REQUEST)))
        return
    call.connection.client_software_name = request.client_software_name
    call.connection.client_software_version = request.client_software_version
    response = ApiVersionsResponse(api_keys=_api_keys(call.connection.side))
    image = node.image
    response.finalized_features_epoch = image.offset
    levels = dict(image.features)
    levels["kraft.version"] = node.raft.kraft_version
    for name, level in sorted(levels.items()):
        if level > 0:
            response.finalized_features.append(
                FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            )
    broker = image.brokers.get(node.node_id)
    for name, lowest, highest in broker.features if broker is not None else ():
        # before version 4 a feature that starts at 0 must not be named (KIP-1022)
        if lowest > 0 or call.version >= 4:
            response.supported_features.append(SupportedFeatureKey(name=name, min_version=lowest, max_version=highest))
    call.reply(response)


def response_for_unsupported_version() -> ApiVersionsResponse:
    """Version 0, the error, and which versions of ApiVersions we do serve."""
    own = [entry for entry in _api_keys(ON_BOTH) if entry.api_key == ApiVersionsRequest.API_KEY]
    return ApiVersionsResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION), api_keys=own)


def _api_keys(side: int) -> list[ApiVersion]:
    found = [
        ApiVersion(api_key=route.api_key, min_version=route.advertised_from, max_version=route.max_version)
        for route in served(side)
    ]
    for entry in found if side == ON_CONTROLLER else []:
        if entry.api_key == FetchRequest.API_KEY:
            entry.min_version = raft_fetch.VERSION_MIN  # the metadata log is not served to earlier ones
    return found


def _plain(name: str) -> bool:
    inner = name.replace("-", "").replace(".", "").replace("_", "").replace("+", "").replace(" ", "")
    return bool(name) and name[0].isalnum() and name[-1].isalnum() and inner.isalnum() and name.isascii()
