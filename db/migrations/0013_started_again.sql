/*
 * A subscription that was started again remembers the day on which the life before ended: until it begins its start may move, but never
 * before that day, for the days before it are charged already.
 */
alter table subscriptions add column restarted_after date;

/* Ends of subscriptions that are not recorded yet: the run looks here for those of suspended and archived customers. */
create index subscriptions_ending on subscriptions (account_id, least(end_date, case when pending_kind = 'cancellation' then pending_on end), customer_id)
 where not is_end_recorded and (end_date is not null or pending_kind = 'cancellation');
