-- Since when, by the account's clock, the gateway of a try has given no answer: from its beginning, or from the last answer that it is pending.
alter table collection_tries add column silent_since timestamptz;
update collection_tries set silent_since = begun_at;
alter table collection_tries alter column silent_since set not null;

-- Why money of a charge was taken back; null of what was applied before this version, and of what came back.
alter table charge_changes add column class text, add column code text, add column message text;
