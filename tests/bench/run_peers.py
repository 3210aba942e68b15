"""Programs that run the same layers of tasks with other engines, and print the CPU seconds of one run after a warm-up.

Arguments: layers and width. Each peer uses its cheapest settings: no telemetry, no logs, no stored results. Imports and
building the graph are not measured.
"""

FORUM_ENGINE = """
import asyncio, sys, time
from forum.dispatch import dispatch_plan
from forum.executor import Result
from forum.ledger import Ledger
from forum.plan import Plan, Task
from forum.storage import FileStorage

class Idle:
    async def run(self, assignment):
        return Result(assignment.task_id, assignment.agent, f"Part {assignment.task_id}.")

def build(layers, width):
    tasks = []
    for layer in range(layers):
        for column in range(width):
            before = (f"t{layer - 1:05}_{column:05}",) if layer else ()
            instruction = f"Write part {column} of layer {layer}."
            name = f"t{layer:05}_{column:05}"
            tasks.append(Task(name, "worker", instruction, depends_on=before, order_deps=frozenset(before)))
    return Plan(tuple(tasks))

def run(plan, directory, width):
    before = time.process_time()
    ledger = Ledger(FileStorage(directory, fsync_each=False))
    results = asyncio.run(dispatch_plan(plan, ledger, Idle(), max_parallel=width))
    ledger.sync()
    spent = time.process_time() - before
    assert len(results) == len(plan.tasks) and all(result.ok for result in results.values())
    on_disk = Ledger(FileStorage(directory))
    assert on_disk.count() == 1 + 2 * len(plan.tasks) and on_disk.verify(deep=True)
    return spent

layers, width = map(int, sys.argv[1:])
run(build(2, 2), "warm-up", 2)
print(run(build(layers, width), "ledger", width))
"""

LANGGRAPH = """
import asyncio, sys, time
from typing import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    note: str

async def work(state):
    return None

def build(layers, width):
    graph = StateGraph(State)
    for layer in range(layers):
        for column in range(width):
            graph.add_node(f"t{layer}_{column}", work)
            graph.add_edge(f"t{layer - 1}_{column}" if layer else START, f"t{layer}_{column}")
    return graph.compile()

def run(graph, layers, width):
    settings = {"recursion_limit": layers + 5, "max_concurrency": width}
    before = time.process_time()
    asyncio.run(graph.ainvoke({"note": "x"}, settings))
    return time.process_time() - before

layers, width = map(int, sys.argv[1:])
run(build(2, 2), 2, 2)
print(run(build(layers, width), layers, width))
"""

# Prefect serves its API from a separate process, whose CPU time during the run counts.
PREFECT = """
import os, sys, time
from pathlib import Path
os.environ |= {
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.task_runners import ThreadPoolTaskRunner

@task(cache_policy=NO_CACHE, persist_result=False)
def work():
    return None

layers, width = map(int, sys.argv[1:])

@flow(task_runner=ThreadPoolTaskRunner(max_workers=width))
def run(layers, width):
    before = [None] * width
    for _ in range(layers):
        before = [work.submit(wait_for=[future] if future else None) for future in before]
    for future in before:
        future.wait()

def server_seconds():
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += int(fields[11]) + int(fields[12]) if int(fields[1]) == os.getpid() else 0
    return ticks / os.sysconf("SC_CLK_TCK")

run(2, 2)
before, served = time.process_time(), server_seconds()
run(layers, width)
own, served = time.process_time() - before, server_seconds() - served
print(f"own {own:.2f} s, server {served:.2f} s", file=sys.stderr)
print(own + served)
"""

DAGSTER = """
import os, sys, time
os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
from dagster import DagsterInstance, DependencyDefinition, GraphDefinition, In, NodeInvocation, Nothing, Out, op

@op(out=Out(Nothing))
def begin():
    pass

@op(ins={"before": In(Nothing)}, out=Out(Nothing))
def work():
    pass

def build(layers, width):
    nodes = {}
    for layer in range(layers):
        for column in range(width):
            node = NodeInvocation("work" if layer else "begin", alias=f"t{layer}_{column}")
            nodes[node] = {"before": DependencyDefinition(f"t{layer - 1}_{column}")} if layer else {}
    graph = GraphDefinition("layers", node_defs=[begin, work], dependencies=nodes)
    return graph.to_job(config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}})

def run(job):
    with DagsterInstance.ephemeral() as instance:
        before = time.process_time()
        assert job.execute_in_process(instance=instance).success
        return time.process_time() - before

layers, width = map(int, sys.argv[1:])
run(build(2, 2))
print(run(build(layers, width)))
"""
