"""Reads counters in OpenMetrics by the reference parser, and profiles in OTLP by the published messages, and prints both."""

import sys

from opentelemetry.proto.profiles.v1development import profiles_pb2
from prometheus_client.openmetrics.parser import text_string_to_metric_families

with open(sys.argv[1], encoding="utf-8") as file:
    for family in text_string_to_metric_families(file.read()):
        for sample in family.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in sample.labels.items())
            print(f"{sample.name}{{{labels}}} {float(sample.value)}" if labels else f"{sample.name} {float(sample.value)}")

print("otlp")
data = profiles_pb2.ProfilesData()
with open(sys.argv[2], "rb") as file:
    data.ParseFromString(file.read())
# Nothing was left that the messages do not know.
assert data.ByteSize() == len(open(sys.argv[2], "rb").read())
tables = data.dictionary
for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.link_table, tables.attribute_table, tables.stack_table):
    assert table[0].ByteSize() == 0
assert tables.string_table[0] == ""
sums = {}
(scope,) = data.resource_profiles[0].scope_profiles
delays, contentions = scope.profiles
text = tables.string_table
assert (text[delays.sample_type.type_strindex], text[delays.sample_type.unit_strindex]) == ("delay", "nanoseconds")
assert (text[contentions.sample_type.type_strindex], text[contentions.sample_type.unit_strindex]) == ("contentions", "count")
for sample in contentions.samples:
    attributes = {text[a.key_strindex]: a.value for a in (tables.attribute_table[i] for i in sample.attribute_indices)}
    lock = attributes["lock"].string_value
    stack = [tables.location_table[i] for i in tables.stack_table[sample.stack_index].location_indices]
    leaf = text[tables.function_table[stack[0].lines[0].function_index].name_strindex]
    assert leaf.startswith(lock), (leaf, lock)
    assert len(stack) > 1
    assert attributes["process.pid"].int_value > 0
    sums[lock] = sums.get(lock, 0) + sum(sample.values)
for lock, waits in sums.items():
    print(lock, waits)
