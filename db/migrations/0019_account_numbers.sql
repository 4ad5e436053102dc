/*
 * Draws the identifier of an account to be: the next one, and none below the start. One draw at a time, so that two that find the sequence
 * below the start do not both move it. It never goes back, and passes over identifiers that were brought along from another installation.
 */
create function draw_account_id(start_at bigint) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  numbers regclass := pg_get_serial_sequence('perennial.accounts', 'account_id');
  drawn bigint;
begin
  perform pg_advisory_xact_lock(7305861200412);
  loop
    drawn := nextval(numbers);
    if drawn < start_at then drawn := setval(numbers, start_at); end if;
    if not exists (select 1 from accounts where account_id = drawn) then return drawn; end if;
  end loop;
end $$;
revoke all on function draw_account_id from public;
grant execute on function draw_account_id to perennial_app;
