-- The call sites and processes of `gblock report`, as one row of JSON each: `gblock report FILE`
-- reads them again. Run: gblock report --sql duckdb DIR | duckdb > sites.jsonl
.mode list
.headers off

create or replace temp view records as
select *, regexp_replace(filename, '\.jsonl(\.(\d+|old))?$', '') as process
from read_json(
    $PATH, format = 'newline_delimited', filename = true, ignore_errors = true,
    columns = {
        type: 'VARCHAR', t: 'DOUBLE', host: 'VARCHAR', pid: 'BIGINT', argv: 'VARCHAR[]',
        python: 'VARCHAR', gevent: 'VARCHAR', release: 'VARCHAR', threshold: 'DOUBLE',
        heartbeat: 'DOUBLE', reason: 'VARCHAR', error: 'VARCHAR', site: 'BIGINT',
        symbol: 'VARCHAR', callable: 'VARCHAR', other: 'BOOLEAN', original: 'BOOLEAN',
        spawned: 'BOOLEAN',
        "user": 'STRUCT(file VARCHAR, line BIGINT, "function" VARCHAR, module VARCHAR)',
        stack: 'STRUCT(file VARCHAR, line BIGINT, "function" VARCHAR, module VARCHAR, "user" BOOLEAN)[]',
        class: 'VARCHAR', duration: 'DOUBLE', confidence: 'VARCHAR', elapsed: 'DOUBLE',
        syscall: 'VARCHAR', native: 'VARCHAR[]',
        count: 'BIGINT', seconds: 'DOUBLE', max: 'DOUBLE'
    }
);

create or replace temp view blocks as
select process, coalesce(site, -1) as site, class, t, duration, t + duration as ended, confidence,
    syscall, array_to_string(native, ',') as native
from records where type = 'block';

create or replace temp view totals as
select process, coalesce(site, -1) as site, class, max(t) as t, arg_max(count, t) as count,
    arg_max(seconds, t) as seconds, arg_max(max, t) as longest
from records where type = 'total' group by all;

-- What is in a total and has no record of its own: above the probe's limit, or rotated away.
create or replace temp view uncounted as
select totals.*, count - coalesce(times, 0) as missing,
    greatest(0, seconds - coalesce(recorded, 0)) as rest
from totals left join (
    select totals.process, totals.site, totals.class, count(*) as times,
        sum(blocks.duration) as recorded
    from totals join blocks
        on blocks.process = totals.process and blocks.site = totals.site
        and blocks.class = totals.class and blocks.ended <= totals.t
    group by all
) as before using (process, site, class)
where count > coalesce(times, 0);

-- Blocks in progress without an end: the process was killed, or is still blocked.
create or replace temp view unfinished as
select process, site, t - elapsed as t, elapsed
from (
    select process, coalesce(site, -1) as site, max(t) as t, arg_max(elapsed, t) as elapsed
    from records where type = 'progress' group by all
) as lasting
where not exists (
    select 1 from blocks where blocks.process = lasting.process and (
        (blocks.site = lasting.site and blocks.ended > lasting.t - 0.1)
        or lasting.t - lasting.elapsed between blocks.t - 0.1 and blocks.ended)
);

create or replace temp view pieces as
select process, site, class, 1 as times, duration as seconds, duration as longest, duration,
    t as first, t as last, (confidence = 'exact')::int as exact, 0 as open,
    syscall, native
from blocks
union all
select process, site, class, missing, rest, greatest(longest, rest / missing), null,
    t - longest, t - longest, 0, 0, null, null
from uncounted
union all
select process, site, 'unknown', 1, elapsed, elapsed, elapsed, t, t, 0, 1, null, null
from unfinished;

create or replace temp view placed as
select pieces.*, sites.* exclude (process, site),
    case when class in ('thread', 'starved', 'gc') then class else '' end as special,
    case
        when class in ('thread', 'starved') then null
        when "user" is not null then struct_pack(
            f := "user".file, l := "user".line, n := "user"."function")
        when len(stack) > 0 then struct_pack(
            f := stack[-1].file, l := stack[-1].line, n := stack[-1]."function")
    end as place,
    case when special = '' then coalesce(symbol, callable) end as called,
    sites.site is not null and special not in ('thread', 'starved') as known
from pieces left join (
    select process, site, any_value(symbol) as symbol, any_value(callable) as callable,
        any_value("user") as "user", any_value(stack) as stack,
        coalesce(bool_or(other), false) as other, coalesce(bool_or(spawned), false) as spawned,
        coalesce(bool_or(original), false) as original
    from records where type = 'site' group by all
) as sites on sites.process = pieces.process and sites.site = pieces.site;

create or replace temp view by_class as
select special, place, called, known, class, sum(times) as times from placed group by all;

create or replace temp view report as
select 'sum' as type, arg_max(symbol, longest) as symbol, arg_max(callable, longest) as callable,
    arg_max("user", longest) as "user", coalesce(arg_max(stack, longest), []) as stack,
    coalesce(bool_or(other), false) as other, coalesce(bool_or(spawned), false) as spawned, known,
    coalesce(bool_or(original), false) as original,
    (select map(list(class), list(by_class.times::bigint)) from by_class
        where by_class.special = placed.special and by_class.known = placed.known
        and by_class.place is not distinct from placed.place
        and by_class.called is not distinct from placed.called) as classes,
    coalesce(histogram(syscall) filter (syscall is not null), map()) as syscalls,
    coalesce(histogram(native) filter (native <> ''), map()) as native,
    sum(times)::bigint as count, sum(exact)::bigint as exact, sum(seconds) as seconds,
    coalesce(median(duration), sum(seconds) / sum(times)) as median,
    coalesce(
        list_sort(list(duration) filter (duration is not null))[
            ceil(0.95 * count(duration))::bigint],
        sum(seconds) / sum(times)) as p95,
    max(longest) as max, min(first) as first, max(last) as last,
    count(distinct process) as processes, sum(open)::bigint as unfinished
from placed group by special, place, called, known
order by seconds desc;

create or replace temp view watched as
select 'watched' as type, process as name, coalesce(arg_min(host, t) filter (type = 'start'), '') as host,
    coalesce(arg_min(pid, t) filter (type = 'start'), 0) as pid,
    coalesce(arg_min(argv, t) filter (type = 'start'), []) as argv,
    arg_min(python, t) filter (type = 'start') as python,
    arg_min(gevent, t) filter (type = 'start') as gevent,
    arg_min(release, t) filter (type = 'start') as release,
    arg_min(threshold, t) filter (type = 'start') as threshold,
    arg_min(heartbeat, t) filter (type = 'start') as heartbeat,
    min(t) as started, max(t + coalesce(duration, 0)) as last,
    case when max(t) filter (type = 'end') >= max(t) then arg_max(reason, t) filter (type = 'end') end
        as reason,
    arg_max(error, t) filter (type = 'end' and error is not null) as error,
    count(*) filter (type = 'block') as blocks,
    coalesce(sum(duration) filter (type = 'block'), 0) as blocked
from records where t is not null group by process;

select to_json(watched) from watched;
select to_json(report) from report;
