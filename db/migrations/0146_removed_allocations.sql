-- What an allocation joined that was taken away: entries of it stay in the ledger, and exports name its documents.
create table removed_allocations (
  account_id bigint not null references accounts,
  allocation_id bigint not null,
  given_kind text not null,
  given_id bigint not null,
  owed_kind text not null,
  owed_id bigint not null,
  primary key (account_id, allocation_id)
);
select own_by_account('removed_allocations', 'select, insert');
