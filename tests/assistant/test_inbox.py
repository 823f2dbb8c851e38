"""Tasks of other threads are run in order by one."""

from __future__ import annotations

import threading

from assistant.inbox import Inbox


def test_all_tasks_in_order_also_those_that_tasks_put_in() -> None:
    inbox, done = Inbox(), list[int]()
    inbox.put(lambda: done.append(1))
    inbox.put(lambda: inbox.put(lambda: done.append(3)))
    inbox.put(lambda: done.append(2))
    inbox.run(lambda task: task())
    assert done == [1, 2, 3]


def test_it_waits_for_a_first_task_only() -> None:
    inbox, done = Inbox(), list[str]()
    thread = threading.Thread(target=lambda: inbox.put(lambda: done.append("late")))
    thread.start()
    inbox.run(lambda task: task(), wait=30.0)
    thread.join()
    assert done == ["late"]
    inbox.run(lambda task: task())
    assert done == ["late"]
