-- The look for old mandates goes on after those that it has seen: many that cannot be forgotten hold up none behind them.
drop function list_old_emandates(timestamptz, integer, jsonb);
create function list_old_emandates(real_now timestamptz, unsigned_days integer, months jsonb, after_account bigint, after_emandate bigint)
  returns table (account_id bigint, emandate_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
declare
  newest timestamptz := (select greatest(real_now, max(a.clock_at)) from accounts a);
  fewest integer := (select min(value::integer) from jsonb_each_text(months));
begin
  return query
    select old.account_id, old.emandate_id from (
      select e.account_id, e.emandate_id from emandates e join accounts a on a.account_id = e.account_id
       where e.signed_at is null and (e.created_at <= coalesce(a.clock_at, real_now) - make_interval(days => unsigned_days)
               or e.made_at <= real_now - make_interval(days => unsigned_days))
      union all
      select e.account_id, e.emandate_id from emandates e join accounts a on a.account_id = e.account_id
       -- Days of accounts begin up to 14 hours before or after those of UTC.
       where e.signed_at <= newest - make_interval(months => fewest) + make_interval(days => 2)
         and greatest((e.signed_at at time zone a.time_zone)::date,
               (select max(b.action_date) from batch_lines l
                  join payment_batches b on b.account_id = l.account_id and b.batch_id = l.batch_id
                 where l.account_id = e.account_id and l.sent_mandate = 'EM' || e.emandate_id and b.state in ('submitted', 'completed')
                   and l.result_class is distinct from 'not_sent' and l.returned_class is distinct from 'not_sent'))
               + make_interval(months => (months ->> e.kind)::integer)
             <= (coalesce(a.clock_at, real_now) at time zone a.time_zone)::date
         and not exists (select 1 from payment_methods m where m.account_id = e.account_id and m.emandate_id = e.emandate_id)
    ) old where (old.account_id, old.emandate_id) > (after_account, after_emandate) order by old.account_id, old.emandate_id limit 100;
end $$;
revoke all on function list_old_emandates(timestamptz, integer, jsonb, bigint, bigint) from public;
grant execute on function list_old_emandates(timestamptz, integer, jsonb, bigint, bigint) to perennial_app;
