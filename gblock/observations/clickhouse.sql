-- The call sites and processes of `gblock report`, as one row of JSON each: `gblock report FILE`
-- reads them again. Run: gblock report --sql clickhouse DIR | clickhouse local > sites.jsonl
-- For a table of a log store, replace the view `records`.
create or replace view records as
select *, replaceRegexpOne(_path, '\\.jsonl(\\.(\\d+|old))?$', '') as process
from file(
    $PATH, 'JSONEachRow',
    'type String, t Nullable(Float64), host String, pid UInt64, argv Array(String),
    python Nullable(String), gevent Nullable(String), `release` Nullable(String),
    threshold Nullable(Float64), heartbeat Nullable(Float64), reason Nullable(String),
    error Nullable(String), site Nullable(Int64), symbol Nullable(String),
    callable Nullable(String), other Bool, original Bool, spawned Bool, user Nullable(String), stack String,
    class String, duration Nullable(Float64), confidence Nullable(String),
    syscall Nullable(String), native Array(String), elapsed Nullable(Float64),
    count UInt64, seconds Nullable(Float64), max Nullable(Float64)'
)
settings input_format_skip_unknown_fields = 1, input_format_allow_errors_ratio = 1,
    input_format_allow_errors_num = 1000000000, input_format_json_read_objects_as_strings = 1,
    input_format_json_read_arrays_as_strings = 1, input_format_null_as_default = 1;

create or replace view blocks as
select process, ifNull(site, -1) as site, class, assumeNotNull(t) as t,
    assumeNotNull(duration) as duration, t + duration as ended, confidence, syscall, native
from records where type = 'block' and t is not null and duration is not null;

create or replace view totals as
select process, ifNull(site, -1) as site, class, argMax(count, t) as number,
    argMax(assumeNotNull(seconds), t) as total, argMax(assumeNotNull(max), t) as longest,
    max(assumeNotNull(t)) as written
from records where type = 'total' group by process, site, class;

-- What is in a total and has no record of its own: above the probe's limit, or rotated away.
create or replace view uncounted as
select process, site, class, written, longest, number - before.times as missing,
    greatest(0, total - before.recorded) as rest
from totals left join (
    select process, site, class, count() as times, sum(blocks.duration) as recorded
    from blocks join totals using (process, site, class)
    where blocks.ended <= totals.written group by process, site, class
) as before using (process, site, class)
where number > before.times;

-- Blocks in progress without an end: the process was killed, or is still blocked.
create or replace view lasting as
select process, ifNull(site, -1) as site, argMax(assumeNotNull(elapsed), t) as passed,
    max(assumeNotNull(t)) as written
from records where type = 'progress' group by process, site;

create or replace view unfinished as
select process, site, written - passed as begun, passed from lasting
where (process, site) not in (
    select lasting.process, lasting.site from lasting join blocks on blocks.process = lasting.process
    where (blocks.site = lasting.site and blocks.ended > lasting.written - 0.1)
        or (lasting.written - lasting.passed between blocks.t - 0.1 and blocks.ended)
);

create or replace view pieces as
select process, site, class, 1 as times, duration as seconds, duration as longest,
    [duration] as durations, t as begun, toUInt64(ifNull(confidence = 'exact', 0)) as exact,
    0 as open, syscall, native
from blocks
union all
select process, site, class, toInt64(missing), rest, greatest(longest, rest / missing), [],
    written - longest, 0, 0, null, []
from uncounted
union all
select process, site, 'unknown', 1, passed, passed, [passed], begun, 0, 1, null, []
from unfinished;

create or replace view sites as
with 'Tuple(file String, line Nullable(Int64), function Nullable(String), module Nullable(String),
    user Bool)' as frame_type
select process, number as site, named as symbol, entered as callable, is_other, is_spawned, is_original,
    JSONExtract(frames, 'Array(' || frame_type || ')') as inner_frames,
    JSONExtract(ifNull(own, '{}'), frame_type) as frame,
    if(empty(inner_frames) and own is not null, [frame], inner_frames) as site_stack,
    if(own is not null, frame, inner_frames[-1]) as placing,
    concat(placing.file, ':', ifNull(toString(placing.line), ''), ':',
        ifNull(placing.function, '')) as place, 1 as known
from (
    select process, ifNull(site, -1) as number, any(symbol) as named, any(callable) as entered,
        any(user) as own, any(stack) as frames, max(other) as is_other, max(spawned) as is_spawned,
        max(original) as is_original
    from records where type = 'site' group by process, number
);

create or replace view placed as
select pieces.*, sites.* except (process, site),
    if(class in ('thread', 'starved', 'gc'), class, '') as special,
    class in ('thread', 'starved') as blameless,
    if(blameless, '', sites.place) as at,
    if(special = '', coalesce(sites.symbol, sites.callable), null) as called,
    sites.known = 1 and not blameless as is_known
from pieces left join sites on sites.process = pieces.process and sites.site = pieces.site;

create or replace view report as
select 'sum' as type, argMax(tuple(symbol), longest).1 as symbol,
    argMax(tuple(callable), longest).1 as callable, argMax(site_stack, longest) as stack,
    (max(is_other) = 1)::Bool as other, (max(is_spawned) = 1)::Bool as spawned,
    (max(is_original) = 1)::Bool as original,
    (is_known = 1)::Bool as known,
    sumMap(map(class, times)) as classes, sum(exact) as exact, sum(placed.seconds) as seconds,
    sum(times) as count,
    sumMap(if(syscall is null, map(), map(assumeNotNull(syscall), 1))) as syscalls,
    sumMap(if(empty(native), map(), map(arrayStringConcat(native, ','), 1))) as native,
    arraySort(arrayFlatten(groupArray(durations))) as sorted,
    if(empty(sorted), seconds / count,
        (sorted[intDiv(length(sorted) + 1, 2)] + sorted[intDiv(length(sorted), 2) + 1]) / 2)
        as median,
    if(empty(sorted), seconds / count, sorted[toUInt64(ceil(0.95 * length(sorted)))]) as p95,
    max(placed.longest) as max, min(begun) as first, max(begun) as last,
    count(distinct placed.process) as processes, sum(open) as unfinished
from placed group by special, at, called, is_known
order by seconds desc;

create or replace view watched as
select 'watched' as type, process as name, argMinIf(host, t, records.type = 'start') as host,
    argMinIf(pid, t, records.type = 'start') as pid, argMinIf(argv, t, records.type = 'start') as argv,
    argMinIf(python, t, records.type = 'start') as python, argMinIf(gevent, t, records.type = 'start') as gevent,
    argMinIf(`release`, t, records.type = 'start') as `release`,
    argMinIf(threshold, t, records.type = 'start') as threshold,
    argMinIf(heartbeat, t, records.type = 'start') as heartbeat,
    min(t) as started, max(t + ifNull(duration, 0)) as last,
    if(maxIf(t, records.type = 'end') >= max(t), argMaxIf(reason, t, records.type = 'end'), null) as reason,
    argMaxIf(error, t, records.type = 'end' and error is not null) as error,
    countIf(records.type = 'block') as blocks, sumIf(ifNull(duration, 0), records.type = 'block') as blocked
from records where t is not null group by process;

select * from watched settings output_format_json_quote_64bit_integers = 0 format JSONEachRow;
select * except sorted from report
settings output_format_json_quote_64bit_integers = 0, output_format_json_named_tuples_as_objects = 1
format JSONEachRow;
