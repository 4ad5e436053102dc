-- Since when, by the account's clock, a gateway that was asked about a sale, or about its refund, has not answered; and whether that was announced.
alter table capture_sales
  add column silent_since timestamptz,
  add column is_silence_announced boolean not null default false;
update capture_sales set silent_since = begun_at;
alter table capture_sales alter column silent_since set not null;
create index capture_sales_unsettled on capture_sales (account_id, charge_id) where state = 'open' or refund_state in ('open', 'refused');

/*
 * Sales on which a person has to decide: silent for 24 hours, or with a refund that the gateway refused for good, as long as nobody has the money.
 */
create function count_unsettled_capture_sales() returns bigint
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return (select count(*) from capture_sales c
    join accounts a on a.account_id = c.account_id
    join capture_sessions s on s.account_id = c.account_id and s.capture_session_id = c.capture_session_id
   where ((c.state = 'open' or c.refund_state = 'open')
          and c.silent_since <= coalesce(a.clock_at, clock_timestamp()) - interval '24 hours')
      or (c.refund_state = 'refused' and (s.charge_id is distinct from c.charge_id or s.completed_at is null)));
end $$;
revoke all on function count_unsettled_capture_sales() from public;
grant execute on function count_unsettled_capture_sales() to perennial_app;
