-- least: 14
-- answers as before: do
-- Cards that are entered into fields of their gateway's own: an intent lives as long as somebody may be at its page, and has the gateway's name of its storing.

alter table card_intents add column gateway_reference text, add column capture_session_id bigint, add column fields_until timestamptz,
  add column refused_tries integer not null default 0;
comment on column card_intents.gateway_reference is 'The gateway''s name of the storing. Null: none is kept.';
comment on column card_intents.fields_until is 'Of an intent whose card is entered into the gateway''s own fields: when it counts as left alone, unless somebody comes back.';
alter table card_removals add column gateway_reference text;
comment on column card_removals.gateway_reference is 'The gateway''s name of a storing that is ended there before what it has stored is removed.';

create function list_left_card_fields()
  returns table(account_id bigint, card_intent_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select i.account_id, i.card_intent_id from card_intents i
     where i.closed_at is null and i.fields_until <= moment() and (i.held_until <= moment() or i.held_until > moment(interval '5 minutes' + '10 minutes'))
     order by i.created_at limit 100;
end $$;
revoke all on function list_left_card_fields from public;
grant execute on function list_left_card_fields to perennial_app;

-- Gateways report what becomes of a storing, too.
do $$
begin
  alter table gateway_reports drop constraint gateway_reports_about_check,
    add constraint gateway_reports_about_check check (about in ('charge', 'refund', 'stored', 'storing')) not valid;
end $$;
alter table gateway_reports validate constraint gateway_reports_about_check;
