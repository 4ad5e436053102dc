-- When the PDF of a signed mandate was kept, in real time; null: it is yet to be made.
alter table emandates add column pdf_made_at timestamptz;
update emandates e set pdf_made_at = d.made_at
  from emandate_documents d where d.account_id = e.account_id and d.emandate_id = e.emandate_id;
create index emandates_without_pdf on emandates (account_id, emandate_id) where signed_at is not null and pdf_made_at is null;

-- A mail about a mandate names it, and has nothing attached.
alter table outbox drop constraint outbox_document_kind_check;
alter table outbox add constraint outbox_document_kind_check
  check (document_kind in ('invoice', 'credit_note', 'statement', 'emandate'));
create index outbox_of_emandates on outbox (account_id, document_id) where document_kind = 'emandate';

alter table emandate_evidence drop constraint emandate_evidence_kind_check;
alter table emandate_evidence add constraint emandate_evidence_kind_check check (kind in ('created', 'opened', 'declined', 'signed'));

-- Signed mandates of all accounts whose PDF is to be made, 20 at a look, from the one after another on: one that cannot be made holds up no other.
create function list_emandates_without_pdf(after_account bigint, after_emandate bigint) returns table (account_id bigint, emandate_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select e.account_id, e.emandate_id from emandates e
     where e.signed_at is not null and e.pdf_made_at is null and (e.account_id, e.emandate_id) > (after_account, after_emandate)
     order by e.account_id, e.emandate_id limit 20;
end $$;
revoke all on function list_emandates_without_pdf(bigint, bigint) from public;
grant execute on function list_emandates_without_pdf(bigint, bigint) to perennial_app;

-- Mandates of all accounts that are kept no longer, 100 at a look. Unsigned ones go some days after they were made, signed ones that no method names
-- some months of their kind (an object) after their last debit, or after the signature. Days are those of the account.
create function list_old_emandates(real_now timestamptz, unsigned_days integer, months jsonb)
  returns table (account_id bigint, emandate_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select e.account_id, e.emandate_id from emandates e join accounts a on a.account_id = e.account_id
     where e.signed_at is null and (e.created_at <= coalesce(a.clock_at, real_now) - make_interval(days => unsigned_days)
             or e.made_at <= real_now - make_interval(days => unsigned_days))
        or e.signed_at is not null
       and greatest((e.signed_at at time zone a.time_zone)::date,
             (select max(b.action_date) from batch_lines l
                join payment_batches b on b.account_id = l.account_id and b.batch_id = l.batch_id
               where l.account_id = e.account_id and l.sent_mandate = 'EM' || e.emandate_id and b.state in ('submitted', 'completed')
                 and l.result_class is distinct from 'not_sent' and l.returned_class is distinct from 'not_sent'))
             + make_interval(months => (months ->> e.kind)::integer)
           <= (coalesce(a.clock_at, real_now) at time zone a.time_zone)::date
       and not exists (select 1 from payment_methods m where m.account_id = e.account_id and m.emandate_id = e.emandate_id)
     order by e.account_id, e.emandate_id limit 100;
end $$;
revoke all on function list_old_emandates(timestamptz, integer, jsonb) from public;
grant execute on function list_old_emandates(timestamptz, integer, jsonb) to perennial_app;
