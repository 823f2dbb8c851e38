from __future__ import annotations

import threading

from assistant.worker import Worker
from tests.patience import PATIENCE_S


def test_tasks_run_in_order_and_an_error_ends_nothing(caplog: object) -> None:
    worker = Worker("test")
    worker.start()
    seen: list[int] = []
    done = threading.Event()
    worker.submit(lambda: seen.append(1))
    worker.submit(lambda: seen.append(1 // 0))
    worker.submit(lambda: (seen.append(3), done.set()))
    assert done.wait(PATIENCE_S)
    worker.stop()
    assert seen == [1, 3]
    assert not worker.busy


def test_busy_until_the_last_task_is_done() -> None:
    worker = Worker("test")
    worker.start()
    gate = threading.Event()
    worker.submit(gate.wait)
    worker.submit(lambda: None)
    assert worker.busy
    assert worker.idle_or_alive(60.0)
    assert not worker.idle_or_alive(-1.0)
    gate.set()
    worker.stop()
    assert not worker.busy


def test_stop_before_start() -> None:
    Worker("test").stop()
