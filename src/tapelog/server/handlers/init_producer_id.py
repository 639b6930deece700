"""InitProducerId, versions 0 to 6: a producer id that nobody else has.

Ids come in blocks from the controller, so a restart never hands one out twice. With a transactional id the transaction
coordinator decides which id and epoch its owner goes on with.
"""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.handlers.transactions import init_producer_id
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.init_producer_id_response import InitProducerIdResponse


def handle(node: NodeApi, call: Call, request: InitProducerIdRequest) -> None:
    """Without a transactional id: hand out the next id, with epoch 0."""
    if request.transactional_id is not None:
        init_producer_id(node, call, request)
        return
    if (request.producer_id < 0) != (request.producer_epoch < 0):
        call.reply(InitProducerIdResponse(error_code=int(ErrorCode.INVALID_REQUEST), producer_epoch=-1))
        return

    def answer(outcome: int | KafkaError) -> None:
        if isinstance(outcome, KafkaError):
            call.reply(InitProducerIdResponse(error_code=int(outcome.code), producer_epoch=-1))
        else:
            call.reply(InitProducerIdResponse(producer_id=outcome, producer_epoch=0))

    node.next_producer_id(answer)
