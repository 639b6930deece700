"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources."""

from __future__ import annotations

from tapelog.metadata.describe_configs import ConfigView, describe_configs_response, list_config_resources_response
from tapelog.server.call import Call
from tapelog.server.handlers.lookup import answering
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import KafkaError
from tapelog.wire.messages.alter_configs_request import AlterConfigsRequest
from tapelog.wire.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse
from tapelog.wire.messages.describe_configs_request import DescribeConfigsRequest
from tapelog.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tapelog.wire.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse as AlterConfigsResourceResult,
)
from tapelog.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tapelog.wire.messages.list_config_resources_request import ListConfigResourcesRequest


def describe_configs(node: NodeApi, call: Call, request: DescribeConfigsRequest) -> None:
    """Versions 1 to 4: every name of Kafka 4.3 with value, source, type and synonyms."""
    call.reply(describe_configs_response(_view(node), request))


def alter_configs(node: NodeApi, call: Call, request: AlterConfigsRequest) -> None:
    """Versions 0 to 2: replaces everything that was set on a resource."""

    def refused(error: KafkaError) -> AlterConfigsResponse:
        return AlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(
                    error_code=int(error.code),
                    error_message=error.message,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource in request.resources
            ]
        )

    node.change_metadata(lambda image: node.controller.alter_configs(image, request), answering(call, refused))


def incremental_alter_configs(node: NodeApi, call: Call, request: IncrementalAlterConfigsRequest) -> None:
    """Versions 0 and 1: set, delete, append, subtract."""

    def refused(error: KafkaError) -> IncrementalAlterConfigsResponse:
        return IncrementalAlterConfigsResponse(
            responses=[
                AlterConfigsResourceResult(
                    error_code=int(error.code),
                    error_message=error.message,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource in request.resources
            ]
        )

    node.change_metadata(
        lambda image: node.controller.incremental_alter_configs(image, request), answering(call, refused)
    )


def list_config_resources(node: NodeApi, call: Call, request: ListConfigResourcesRequest) -> None:
    """Versions 0 and 1: which resources have settings."""
    call.reply(list_config_resources_response(_view(node), request, call.version))


def _view(node: NodeApi) -> ConfigView:
    return ConfigView(node.image, node.settings, node.node_id)
