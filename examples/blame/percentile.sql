-- What tailorctl blame computes, in DuckDB: p99 of one route, p99 without
-- collections, and what each of some causes has in p99.
--
--	tailorctl blame --accounts >a.csv
--	duckdb <examples/blame/percentile.sql

create table account as
from read_csv('a.csv') where route = 'GET /search';

create macro quantile(column_name, p) as table
select min(t) / 1e6 as ms from (
	select t, sum(weight) over (order by t) / sum(weight) over () as rank
	from (select *, column_name as t from account))
where rank >= p - 1e-12;

select 'p99' as what, ms from quantile(total_ns, 0.99)
union all
select 'without gc', ms from quantile(total_ns - gc, 0.99);

with ranked as (
	select *, sum(weight) over () as requests,
	    sum(weight) over (order by total_ns, end_ns, id) as above
	from account),
band as (
	select *, least(above, 0.9925 * requests)
	    - greatest(above - weight, 0.9875 * requests) as inside
	from ranked
	where above > 0.9875 * requests
	and above - weight < 0.9925 * requests)
select sum(inside * columns('^(work|gc|disk|lock|runq)$')) / sum(inside * total_ns)
	* (select ms from quantile(total_ns, 0.99))
from band;
