-- A line is gone with its payment, whatever takes that away.
alter table batch_lines add constraint batch_lines_payment_fkey foreign key (account_id, payment_id) references payments on delete cascade;

-- Batches to build, of all accounts, and those that wait for a release in accounts on real time: their last moment may pass.
create function list_batches_at_work() returns table (account_id bigint, batch_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select b.account_id, b.batch_id from payment_batches b join accounts a on a.account_id = b.account_id
     where b.state = 'build' and (a.clock_at is null or not b.needs_release or b.released_at is not null)
       and not coalesce(b.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false)
       and not coalesce(b.next_try_at between clock_timestamp() and clock_timestamp() + interval '1 hour', false)
     order by b.account_id, b.batch_id limit 100;
end $$;
revoke all on function list_batches_at_work() from public;
grant execute on function list_batches_at_work() to perennial_app;

create function forget_batch_files(before_day date) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  gone bigint;
begin
  update payment_batches set sealed_file = null where sealed_file is not null and action_date < before_day;
  get diagnostics gone = row_count;
  return gone;
end $$;
revoke all on function forget_batch_files(date) from public;
grant execute on function forget_batch_files(date) to perennial_app;

-- A debit in the book of the sandbox: the day of its result. It has no card.
alter table sandbox_charges add column settles_on date;
