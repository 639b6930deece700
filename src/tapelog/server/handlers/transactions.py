"""The transaction APIs: AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, ListTransactions and DescribeTransactions, and
InitProducerId with a transactional id. All of them only carry the request to the coordinator and its answer back."""

from __future__ import annotations

from tapelog.coordinators.caller import Caller
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from tapelog.wire.messages.describe_transactions_request import DescribeTransactionsRequest
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.list_transactions_request import ListTransactionsRequest


def init_producer_id(node: NodeApi, call: Call, request: InitProducerIdRequest) -> None:
    """A producer takes a transactional id."""
    node.transactions.init_producer_id(_caller(call), request, call.reply)


def add_partitions_to_txn(node: NodeApi, call: Call, request: AddPartitionsToTxnRequest) -> None:
    """Partitions that the transaction is about to write to."""
    node.transactions.add_partitions_to_txn(_caller(call), request, call.reply)


def add_offsets_to_txn(node: NodeApi, call: Call, request: AddOffsetsToTxnRequest) -> None:
    """A group whose offsets the transaction is about to commit."""
    node.transactions.add_offsets_to_txn(_caller(call), request, call.reply)


def end_txn(node: NodeApi, call: Call, request: EndTxnRequest) -> None:
    """Commit or abort."""
    node.transactions.end_txn(_caller(call), request, call.reply)


def list_transactions(node: NodeApi, call: Call, request: ListTransactionsRequest) -> None:
    """Every transactional id coordinated here."""
    node.transactions.list_transactions(_caller(call), request, call.reply)


def describe_transactions(node: NodeApi, call: Call, request: DescribeTransactionsRequest) -> None:
    """State and partitions of transactions."""
    node.transactions.describe_transactions(_caller(call), request, call.reply)


def _caller(call: Call) -> Caller:
    connection = call.connection
    return Caller(call.client_id, f"/{connection.peer_host}", call.version, connection.principal)
