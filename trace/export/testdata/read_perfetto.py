# Reads a Perfetto file with the classes that Perfetto's own schema was compiled to (the package "perfetto" of PyPI), and prints what is in
# it as JSON. With PERFETTO_TRACE_PROCESSOR, the path of trace_processor_shell, SQL of Perfetto's own importer has to find the same.
import collections, json, os, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

trace = pb.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
names, annotations, processes, threads = {}, {}, {}, {}
tasks, nanoseconds, link_bytes, ends = collections.Counter(), collections.Counter(), collections.Counter(), collections.Counter()
flows, terminations, counters, stacks = collections.Counter(), collections.Counter(), set(), collections.defaultdict(list)
for p in trace.packet:
    assert p.trusted_packet_sequence_id == 1
    d = p.track_descriptor
    if d.HasField("process"):
        processes[d.process.pid] = d.process.process_name
    if d.HasField("thread"):
        threads[d.uuid] = (d.thread.pid, d.thread.thread_name)
    if d.HasField("counter"):
        counters.add(d.uuid)
    for n in p.interned_data.event_names:
        names[n.iid] = n.name
    for n in p.interned_data.debug_annotation_names:
        annotations[n.iid] = n.name
    if not p.HasField("track_event"):
        continue
    e = p.track_event
    if e.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
        stacks[e.track_uuid].append((p.timestamp, e))
        flows.update(e.flow_ids)
        terminations.update(e.terminating_flow_ids)
    elif e.type == pb.TrackEvent.TYPE_SLICE_END:
        at, begin = stacks[e.track_uuid].pop()
        pid, thread = threads[e.track_uuid]
        values = {annotations[a.name_iid]: a.uint_value for a in begin.debug_annotations}
        if "task" in values:
            tasks[names[begin.name_iid]] += 1
            nanoseconds[processes[pid]] += p.timestamp - at
        elif "bytes" in values:
            link_bytes[thread.split(" stream")[0]] += values["bytes"]
    elif e.type == pb.TrackEvent.TYPE_INSTANT:
        ends[names[e.name_iid].split(":")[0]] += 1
    elif e.type == pb.TrackEvent.TYPE_COUNTER:
        assert e.track_uuid in counters
assert not any(stacks.values()), "a slice has no end"
assert flows == terminations, "a flow has no end"
assert all(n == 1 for n in flows.values())

shell = os.environ.get("PERFETTO_TRACE_PROCESSOR")
if shell:
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
    tp = TraceProcessor(trace=sys.argv[1], config=TraceProcessorConfig(bin_path=shell))
    count = lambda q: next(iter(tp.query("select count(*) as n from " + q))).n
    assert count("slice where dur > 0 or dur = 0") >= sum(tasks.values())
    assert count("flow") == len(flows)
    assert count("counter") > 0
    tp.close()
print(json.dumps({"tasks": tasks, "busy": nanoseconds, "bytes": link_bytes, "ends": ends, "flows": len(flows), "counters": len(counters)}))
