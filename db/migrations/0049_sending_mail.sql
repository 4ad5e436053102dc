-- Mail that leaves. Statuses beside those before: held, which leaves when somebody sends it by hand.
alter table outbox drop constraint outbox_status_check;
alter table outbox
  add constraint outbox_status_check check (status in ('queued', 'sending', 'sent', 'failed', 'unknown', 'held')),
  -- The claim of a sender: only who holds it writes what came of the try.
  add column holder uuid,
  -- Written before the first byte of the message leaves: from then on nobody can know whether a receiver has it.
  add column handed_over_at timestamptz,
  -- Sent by hand: its age holds it no more.
  add column is_released boolean not null default false,
  -- Receivers that have not answered for good; null: all of them.
  add column open_addresses text[],
  -- When the receiver took it, where others (the copy) have yet to.
  add column taken_at timestamptz;
alter table outbox rename column last_error to last_reply;
create index outbox_due_of_account on outbox (account_id, next_try_at, outbox_id) where next_try_at is not null;
create index outbox_sending on outbox (account_id, outbox_id) where status = 'sending';

-- The only address that mail of a test account goes to; null: it is held.
alter table accounts add column test_mail_to text;
alter table accounts add constraint accounts_test_mail_to check (test_mail_to is null or mode = 'test');

-- Accounts with mail that is due, or whose sender is gone. It jumps from account to account in the index, however much mail waits.
create function list_accounts_with_mail(at_instant timestamptz) returns table (account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
declare
  head record;
  last_account bigint := 0;
begin
  return query select distinct o.account_id from outbox o where o.status = 'sending'
    and not coalesce(o.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false);
  loop
    select o.account_id, o.next_try_at into head from outbox o
     where o.next_try_at is not null and o.account_id > last_account
     order by o.account_id, o.next_try_at limit 1;
    exit when head.account_id is null;
    last_account := head.account_id;
    if head.next_try_at <= at_instant then
      return query select last_account;
    end if;
  end loop;
end $$;
revoke all on function list_accounts_with_mail(timestamptz) from public;
grant execute on function list_accounts_with_mail(timestamptz) to perennial_app;
