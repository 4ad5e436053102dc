/** Components for the subscriptions of the billing run's benchmark: seats in advance, and calls by tiers with usage in the month that is over. */

const SEAT_BRACKETS = '[{"from":"1","till":null,"price":"4.5"}]'
const CALL_BRACKETS = '[{"from":"1","till":"100","price":"0.05"},{"from":"101","till":null,"price":"0.04"}]'

export const COMPONENTS = `
  insert into components (account_id, component_id, package_group_id, code, name, is_active, unit_name, term, term_type, type, scheme, last_version_no)
    values (1, 1, 1, 'seats', 'Seats', true, 'seat', 1, 'months', 'quantity', 'unit', 1), (1, 2, 1, 'calls', 'Calls', true, 'call', 1, 'months', 'metered', 'tiered', 1);
  insert into component_versions (account_id, component_version_id, component_id, version_no, name, is_default, is_active)
    values (1, 1, 1, 1, 'One', true, true), (1, 2, 2, 1, 'One', true, true);
  insert into component_version_currencies (account_id, component_version_currency_id, component_version_id, currency) values (1, 1, 1, 'USD'), (1, 2, 2, 'USD');
  insert into component_brackets (account_id, component_version_currency_id, qty_from, qty_till, price)
    values (1, 1, 1, null, 4.5), (1, 2, 1, 100, 0.05), (1, 2, 101, null, 0.04);`

/** Seats of which January is invoiced: the columns that say so. */
const INVOICED_SEATS = `'2027-02-01', '2027-01-01', '[{"from":"2027-01-01","wholeFrom":"2027-01-01","wholeUntil":"2027-02-01","highest":"3","nextPart":1}]'`

/** Components that every subscription has, one of each. 150 calls were reported for January, in two reports. */
export const ON_SUBSCRIPTIONS = onSubscriptions(INVOICED_SEATS)

/** The same where the service has yet to invoice January. */
export const ON_NEW_SUBSCRIPTIONS = onSubscriptions(`'2027-01-01', null, null`)

function onSubscriptions(seats: string): string[] {
  return [
    `update subscriptions set components_revision = 1, component_anchor = '2027-01-01' where account_id = 1`,
    `insert into subscription_components (account_id, subscription_id, component_id, component_version_id, quantity, anchor, anchor_day, stretch,
      charges_from, versions, next_from, last_from, invoiced)
    select account_id, subscription_id, 1, 1, 3, '2027-01-01', 1, stretch, '2027-01-01',
        '[{"versionId":"1","from":null,"scheme":"unit","list":${SEAT_BRACKETS}}]', ${seats} from subscriptions where account_id = 1`,
    `insert into subscription_components (account_id, subscription_id, component_id, component_version_id, quantity, anchor, anchor_day, stretch,
      charges_from, next_from, versions)
    select account_id, subscription_id, 2, 2, 0, '2027-01-01', 1, stretch, '2027-01-01', '2027-01-01',
        '[{"versionId":"2","from":null,"scheme":"tiered","list":${CALL_BRACKETS}}]' from subscriptions where account_id = 1`,
    `insert into usage_cycles (account_id, subscription_id, component_id, cycle_from, cycle_until, total, next_part, is_free)
    select account_id, subscription_id, 2, '2027-01-01', '2027-02-01', 150, 1, false from subscriptions where account_id = 1`,
    `insert into usage_rows (account_id, subscription_id, component_id, units, is_set, usage_date, usage_key, recorded_at, cycle_from, part)
    select account_id, subscription_id, 2, 75, false, '2027-01-10', 'seed ' || turn, '2027-01-10', '2027-01-01', 0
      from subscriptions, generate_series(1, 2) turn where account_id = 1`,
  ]
}
