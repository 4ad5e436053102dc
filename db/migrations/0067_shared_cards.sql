/*
 * A gateway may give one card one token, however often it is stored. Everything that keeps a token here can be looked up by it: captured sessions
 * and open sales hold their card sealed, so its token stands beside it. Those of before end within two days.
 */
alter table capture_sessions add column gateway_token text;
create index capture_sessions_by_gateway_token on capture_sessions (account_id, gateway_id, gateway_token) where gateway_token is not null;
alter table capture_sales add column gateway_token text;
create index capture_sales_by_gateway_token on capture_sales (account_id, gateway_id, gateway_token) where gateway_token is not null;
create index payment_methods_by_gateway_token on payment_methods (account_id, gateway_id, gateway_token) where gateway_token is not null;
create index collection_tries_by_gateway_token on collection_tries (account_id, gateway_id, (new_card ->> 'gatewayToken')) where new_card is not null;

-- When a gateway was last asked to remove a card: what it stored before that under the same token may be gone with it.
alter table card_removals add column asked_at timestamptz;
-- The token under which a gateway holds what was stored for an intent is found before it is removed.
alter table card_removals drop constraint card_removals_check;
alter table card_removals add constraint card_removals_check check (gateway_token is not null or reference is not null);
create index card_removals_by_gateway_token on card_removals (account_id, gateway_id, gateway_token) where gateway_token is not null;
-- Removals that are done stay for a while; they hold no gateway.
alter table card_removals drop constraint card_removals_gateway_fkey;
alter table card_removals add constraint card_removals_gateway_fkey
  foreign key (account_id, gateway_id) references gateways on delete cascade;

create or replace function delete_old_card_intents(before_instant timestamptz) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  gone bigint;
begin
  delete from card_removals where finished_at < before_instant;
  delete from card_intents where closed_at < before_instant;
  get diagnostics gone = row_count;
  return gone;
end $$;
