"""Agents, references and settings: the names of `torch._C._distributed_rpc` that programs use."""

from tl_distributed.rpc.agent import Agent as RpcAgent
from tl_distributed.rpc.api import (
    _delete_all_user_and_unforked_owner_rrefs,
    _get_current_rpc_agent,
    _is_current_rpc_agent_set,
    _rref_context_get_debug_info,
    _set_and_start_rpc_agent,
    _set_rpc_timeout,
    enable_gil_profiling,
    get_rpc_timeout,
)
from tl_distributed.rpc.constants import DEFAULT_INIT_METHOD as _DEFAULT_INIT_METHOD
from tl_distributed.rpc.constants import DEFAULT_NUM_WORKER_THREADS as _DEFAULT_NUM_WORKER_THREADS
from tl_distributed.rpc.constants import DEFAULT_RPC_TIMEOUT_SEC as _DEFAULT_RPC_TIMEOUT_SEC
from tl_distributed.rpc.constants import UNSET_RPC_TIMEOUT as _UNSET_RPC_TIMEOUT
from tl_distributed.rpc.options import RpcBackendOptions
from tl_distributed.rpc.options import TensorPipeRpcBackendOptions as _TensorPipeRpcBackendOptionsBase
from tl_distributed.rpc.references import PyRRef
from tl_distributed.rpc.worker_info import WorkerInfo

__all__ = ["PyRRef", "RpcAgent", "RpcBackendOptions", "WorkerInfo", "_DEFAULT_INIT_METHOD",
           "_DEFAULT_NUM_WORKER_THREADS", "_DEFAULT_RPC_TIMEOUT_SEC", "_TensorPipeRpcBackendOptionsBase",
           "_UNSET_RPC_TIMEOUT", "_delete_all_user_and_unforked_owner_rrefs", "_get_current_rpc_agent",
           "_is_current_rpc_agent_set", "_rref_context_get_debug_info", "_set_and_start_rpc_agent",
           "_set_rpc_timeout", "enable_gil_profiling", "get_rpc_timeout"]  # fmt: skip
