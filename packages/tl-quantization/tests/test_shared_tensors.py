"""Quantized tensors in two processes: the integers lie in shared memory, and the quantizer comes along."""

import tl_core as tl
import tl_core.multiprocessing as mp
import tl_quantization as tq


def write_and_answer(requests, answers):
    q, channels = requests.get(timeout=60), requests.get(timeout=60)
    answers.put((q.is_quantized, q.is_shared(), q.q_scale(), q.q_zero_point(), q.int_repr().tolist()))
    answers.put(
        (str(channels.qscheme()), channels.q_per_channel_scales().tolist(), channels.int_repr().tolist())
    )
    q[0, 0] = 2.0
    answers.put(tq.quantize_per_tensor(tl.tensor([1.0, 1.5]), 0.5, 1, tq.qint8))
    assert requests.get(timeout=60) is None


def test_two_processes_share_the_integers():
    context = mp.get_context("spawn")
    requests, answers = context.Queue(), context.Queue()
    q = tq.quantize_per_tensor(tl.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), 0.1, 3, tq.quint8)[1:]
    scales, zeros = tl.tensor([0.5, 0.25], dtype=tl.float64), tl.tensor([1, 2])
    channels = tq.quantize_per_channel(tl.ones(2, 2), scales, zeros, 0, tq.qint8)
    q.share_memory_()
    child = context.Process(target=write_and_answer, args=(requests, answers))
    child.start()
    requests.put(q)
    requests.put(channels)
    assert answers.get(timeout=60) == (True, True, 0.1, 3, [[6, 7], [8, 9]])
    assert answers.get(timeout=60) == ("torch.per_channel_affine", [0.5, 0.25], [[3, 3], [6, 6]])
    answer = answers.get(timeout=60)
    assert (answer.q_scale(), answer.int_repr().tolist()) == (0.5, [3, 4])
    requests.put(None)
    child.join(60)
    assert child.exitcode == 0
    assert q.int_repr().tolist() == [[23, 7], [8, 9]]
