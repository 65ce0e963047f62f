"""Jobs in processes."""

import os
import signal
import time
from pathlib import Path

import pytest
from ktc.base.records import replace
from ktc.diag.diagnostic import Bug
from ktc.emit.workers import Job, Workers


def double(value):
    return value + value


def die(number):
    os.write(2, b"LLVM ERROR: Cannot select: it\n")
    os.kill(os.getpid(), number)


def leave(status):
    os.write(2, b"error: no libcall\n#0 0x0000\n")
    os._exit(status)


def refuse(text):
    raise Bug(text, "codegen")


def unpicklable():
    return lambda: None


def whoami():
    return os.getpid()


def nap(seconds):
    time.sleep(seconds)
    return seconds


def job(name, *arguments):
    return Job(f"job {name}", f"{__name__}:{name}", arguments)


@pytest.fixture(scope="module")
def workers():
    with Workers(2, preload=()) as running:
        yield running


def test_results_come_by_ticket(workers):
    tickets = [workers.submit(job("double", index)) for index in range(5)]
    assert [workers.result(ticket) for ticket in reversed(tickets)] == [8, 6, 4, 2, 0]


def test_jobs_larger_than_a_pipe_in_both_directions(workers):
    text = "x" * 3_000_000
    tickets = [workers.submit(job("double", text)) for _ in range(4)]
    assert all(workers.result(ticket) == text + text for ticket in tickets)


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_a_killed_job_tells_its_last_words(workers, number):
    with pytest.raises(Bug, match=rf"gave up on job die: LLVM ERROR: Cannot select: it \(signal {int(number)}\)"):
        workers.result(workers.submit(job("die", int(number))))


def test_the_spare_of_a_killed_job(workers):
    ticket = workers.submit(replace(job("die", int(signal.SIGABRT)), fallback=job("double", "ab")))
    assert workers.result(ticket) == "abab" and workers.usage[ticket].pid
    with pytest.raises(Bug, match="gave up on job leave"):
        workers.result(workers.submit(replace(job("die", int(signal.SIGABRT)), fallback=job("leave", 1))))


def test_a_job_that_exits(workers):
    with pytest.raises(Bug, match=r"gave up on job leave: error: no libcall \(exit status 1\)"):
        workers.result(workers.submit(job("leave", 1)))


def test_what_a_job_raises_is_raised(workers):
    with pytest.raises(Bug, match="a reason") as caught:
        workers.result(workers.submit(job("refuse", "a reason")))
    assert caught.value.where == "codegen"


def test_a_result_that_cannot_travel(workers):
    with pytest.raises(Exception, match="pickle"):
        workers.result(workers.submit(job("unpicklable")))


def test_two_at_once(workers):
    start = time.monotonic()
    for ticket in [workers.submit(job("nap", 0.2)) for _ in range(2)]:
        workers.result(ticket)
    assert time.monotonic() - start < 0.39


def test_a_process_does_one_job_after_the_other_until_one_kills_it():
    with Workers(1, preload=()) as running:
        first, again = [running.result(running.submit(job("whoami"))) for _ in range(2)]
        deadly, after = running.submit(job("die", int(signal.SIGABRT))), running.submit(job("whoami"))
        assert first == again != running.result(after)
        with pytest.raises(Bug, match="Cannot select"):
            running.result(deadly)


def test_a_process_ends_with_its_last_job():
    with Workers(1, preload=()) as running:
        last = replace(job("whoami"), last=True)
        tickets = [running.submit(one) for one in (job("whoami"), last, job("whoami"), last, last)]
        first, second, third, fourth, fifth = map(running.result, tickets)
        assert first == second != third == fourth != fifth


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_a_process_that_is_killed_while_it_waits_is_replaced():
    with Workers(1, preload=()) as running:
        process = running.result(running.submit(job("whoami")))
        os.kill(process, signal.SIGKILL)
        while is_running(process):  # on a busy machine it ends late
            time.sleep(0.01)
        assert running.result(running.submit(job("double", 1))) == 2


def test_closing_ends_what_runs():
    running = Workers(1, preload=()).start()
    running.submit(job("nap", 30))
    start = time.monotonic()
    running.close()
    assert time.monotonic() - start < 5


def test_the_reason_why_a_child_cannot_start_is_reported():
    with Workers(1, preload=("no_such_module",)) as running, pytest.raises(Bug, match="no_such_module"):
        running.result(running.submit(job("double", 1)))


def test_a_child_that_is_killed():
    with Workers(1, preload=()) as running:
        ticket = running.submit(job("nap", 30))
        os.kill(running._child, signal.SIGKILL)
        with pytest.raises(Bug, match="its process is gone"):
            running.result(ticket)


def test_closing_does_not_wait_for_a_copy_of_the_process_that_holds_the_pipes() -> None:
    running = Workers(1).start()
    copy = os.fork()
    if copy == 0:
        time.sleep(60)
        os._exit(0)
    running.close()
    assert os.waitpid(copy, os.WNOHANG) == (0, 0)
    os.kill(copy, signal.SIGKILL)
    os.waitpid(copy, 0)
