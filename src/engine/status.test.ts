import { describe, expect, test } from 'vitest'
import { customerStatus, type SubscriptionStatus, subscriptionStatus } from './status.ts'

const facts = { today: '2027-03-01', startDate: '2027-01-01', trialEndDate: null, endDate: null, cancelledOn: null }

describe('the status of a subscription', () => {
  test.each<[SubscriptionStatus, Partial<Parameters<typeof subscriptionStatus>[0]>, string]>([
    ['Active', {}, 'it has begun and nothing ends it'],
    ['Active', { startDate: '2027-03-01' }, 'the first day is active'],
    ['Future', { startDate: '2027-03-02' }, 'it begins tomorrow'],
    ['Trial', { trialEndDate: '2027-03-02' }, 'the last day of the trial'],
    ['Active', { trialEndDate: '2027-03-01' }, 'the trial ends before the day of its end'],
    ['Active', { endDate: '2027-03-02' }, 'the last covered day'],
    ['Expired', { endDate: '2027-03-01' }, 'EndDate is the first day not covered'],
    ['Expired', { endDate: '2027-03-01', trialEndDate: '2027-04-01' }, 'expired comes before trial'],
    ['Active', { cancelledOn: '2027-03-02' }, 'a pending cancellation leaves it active'],
    ['Cancelled', { cancelledOn: '2027-03-01' }, 'until its day has come'],
    ['Cancelled', { cancelledOn: '2027-02-01', endDate: '2027-02-01' }, 'a cancellation sets EndDate to its day'],
    ['Expired', { cancelledOn: '2027-02-15', endDate: '2027-02-01' }, 'an EndDate before a pending cancellation wins'],
    ['Cancelled', { startDate: '2027-06-01', cancelledOn: '2027-02-15' }, 'cancelled while future'],
  ])('%s with %o: %s', (status, changed) => {
    expect(subscriptionStatus({ ...facts, ...changed })).toBe(status)
  })
})

test('an archived customer is archived whether suspended or not', () => {
  expect(customerStatus({ isArchived: true, isSuspended: true })).toBe('Archived')
  expect(customerStatus({ isArchived: false, isSuspended: true })).toBe('Suspended')
  expect(customerStatus({ isArchived: false, isSuspended: false })).toBe('Active')
})
