/*
 * Numbers of documents as files of DATEV have them, where they are more than digits: one is written the same in every batch, and no two come to the
 * same. A number belongs to the batch that had it first, and goes with it.
 */
create table export_numbers (
  account_id bigint not null,
  export_id bigint not null,
  number text not null,
  -- The number in the letters of the field; where several come to the same they are counted.
  base text not null,
  count integer not null,
  document text not null,
  primary key (account_id, number),
  unique (account_id, document),
  foreign key (account_id, export_id) references exports on delete cascade
);
create index export_numbers_by_base on export_numbers (account_id, base, count);
create index export_numbers_by_export on export_numbers (account_id, export_id);
select own_by_account('export_numbers', 'select, insert, delete');

-- What differs is kept up to a bound; how much there is stands beside it.
alter table exports add column difference_count integer not null default 0;
update exports set difference_count = jsonb_array_length(differences);
