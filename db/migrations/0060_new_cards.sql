-- A card that a customer enters to pay one invoice, until the outcome of that try is known; and where a gateway lets him confirm a charge.
alter table collection_tries add column new_card jsonb;
alter table collection_tries add column confirm_url text;
-- Cards entered for an invoice are counted: its link must not serve to try out stolen ones.
alter table card_intents add column invoice_id bigint;
create index card_intents_by_invoice on card_intents (account_id, invoice_id, created_at) where invoice_id is not null;
