/*
 * The tables that a billing run reads (`due`) or has written (`issued`), where one of them has at least so many rows of an account, counted up to the records of the
 * run, and PostgreSQL expects less than a tenth of them; else none. Of an account that came after its last look it expects one row, and would read all rows of the
 * account for each of them; its own next look is up to a minute away, or never comes where the account is small beside the others.
 */
create function list_tables_to_analyze(of_account bigint, about text, records bigint, at_least bigint) returns table (name text)
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  witness text;
  plan json;
  expected double precision;
  there bigint;
begin
  foreach witness in array case about when 'due' then array['customers', 'subscription_billing', 'recurring_invoices'] else array['invoices'] end loop
    execute format('explain (format json) select 1 from %I where account_id = %s', witness, of_account) into plan;
    expected := (plan -> 0 -> 'Plan' ->> 'Plan Rows')::double precision;
    continue when expected * 10 >= records;
    execute format('select count(*) from (select 1 from %I where account_id = %s limit %s) counted', witness, of_account, records) into there;
    continue when there < at_least or expected * 10 >= there;
    return query select unnest(case about
      when 'due' then array['customers', 'subscriptions', 'subscription_billing', 'recurring_invoices', 'customer_totals', 'payment_methods', 'subscription_components', 'usage_cycles']
      else array['invoices', 'invoice_shapes', 'shape_charges', 'shape_taxes', 'charge_rows', 'invoice_tax_rows', 'ledger_entries', 'posting_batches', 'issued_events', 'events',
                 'customer_totals', 'dunning', 'outbox', 'tax_days'] end);
    return;
  end loop;
end $$;
revoke all on function list_tables_to_analyze(bigint, text, bigint, bigint) from public;
grant execute on function list_tables_to_analyze(bigint, text, bigint, bigint) to perennial_app;

-- Only the owner of a table may analyze it. One that somebody else looks at meanwhile is passed over: it is known soon.
create function analyze_table(name text) returns void
  language plpgsql security definer set search_path = perennial, pg_temp as $$
begin
  execute format('analyze (skip_locked) perennial.%I', name);
end $$;
revoke all on function analyze_table(text) from public;
grant execute on function analyze_table(text) to perennial_app;
