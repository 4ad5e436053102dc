-- The instant of a cancellation that took effect at once: usage dated before it counts, also on its day. Null: midnight of cancelled_on.
alter table subscriptions add column cancelled_at timestamptz;

-- Days on which a component was away, where it was left out and added again: from, until, and from when on it was counted before. Null: never.
alter table subscription_components add column absences json;
