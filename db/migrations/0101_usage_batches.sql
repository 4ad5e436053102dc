/*
 * Reports of usage that came together in one plain request, many to a row (decision 38): what the events of it tell. The event of a subscription names its row by
 * `first_usage_id`, and tells the reports of the row that are of that subscription. Report k has the subscription, component and day at place `groups[k]`, and line k of
 * `keys` and of `memos` and number k of `units`. Its identifier is `first_usage_id + k - 1`, or `usage_ids[k]` where other writers drew some in between. What a row has
 * is never changed, and stays where reports are deleted with their subscription. Events of before, and of requests that are not plain, hold their reports themselves.
 */
create table usage_batches (
  account_id bigint not null,
  first_usage_id bigint not null,
  subscription_ids bigint[] not null,
  component_ids bigint[] not null,
  days date[] not null,
  groups integer[] not null,
  usage_ids bigint[],
  units text not null,
  keys text not null,
  memos text,
  primary key (account_id, first_usage_id),
  constraint usage_batches_groups check (cardinality(component_ids) = cardinality(subscription_ids) and cardinality(days) = cardinality(subscription_ids)),
  constraint usage_batches_ids check (usage_ids is null or cardinality(usage_ids) = cardinality(groups))
);
select own_by_account('usage_batches', 'select, insert');

-- Compressing them costs as much as writing all the rest of the row.
alter table usage_batches
  alter column groups set storage external,
  alter column usage_ids set storage external,
  alter column units set storage external,
  alter column keys set storage external,
  alter column memos set storage external;
