-- Of what waits to be worked on, the first of each account comes first, then the second of each: what one account has waiting, however much, holds up no other's.
create or replace function list_batches_at_work() returns table (account_id bigint, batch_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select w.account_id, w.batch_id from (
      select b.account_id, b.batch_id, row_number() over (partition by b.account_id order by b.batch_id) as turn
        from payment_batches b join accounts a on a.account_id = b.account_id
       where b.state = 'build' and (a.clock_at is null or not b.needs_release or b.released_at is not null)
         and not coalesce(b.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false)
         and not coalesce(b.next_try_at between clock_timestamp() and clock_timestamp() + interval '1 hour', false)) as w
     order by w.turn, w.account_id limit 100;
end $$;

create or replace function list_waiting_card_removals() returns table (account_id bigint, card_removal_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select w.account_id, w.card_removal_id from (
      select r.account_id, r.card_removal_id, r.created_at, row_number() over (partition by r.account_id order by r.created_at) as turn
        from card_removals r
       where r.finished_at is null
         and not coalesce(r.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false)
         and not coalesce(r.next_try_at between clock_timestamp() and clock_timestamp() + interval '1 hour', false)) as w
     order by w.turn, w.created_at limit 100;
end $$;

create or replace function list_capture_sales_to_ask() returns table (account_id bigint, charge_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select w.account_id, w.charge_id from (
      select s.account_id, s.charge_id, s.next_ask_at, row_number() over (partition by s.account_id order by s.next_ask_at) as turn
        from capture_sales s
       where s.next_ask_at <= clock_timestamp()
         and not coalesce(s.leased_until between clock_timestamp() and clock_timestamp() + interval '2 minutes', false)) as w
     order by w.turn, w.next_ask_at limit 100;
end $$;

create or replace function list_unfinished_runs() returns table (account_id bigint, billing_run_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select w.account_id, w.billing_run_id from (
      select r.account_id, r.billing_run_id, r.created_at, row_number() over (partition by r.account_id order by r.created_at) as turn
        from billing_runs r
       where r.finished_at is null
         and not coalesce(r.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false)
         and not coalesce(r.next_try_at between clock_timestamp() and clock_timestamp() + interval '1 hour', false)) as w
     order by w.turn, w.created_at limit 100;
end $$;
