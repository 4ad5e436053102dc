import { findCountry } from '../../kernel/countries.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Duty } from '../../platform/duty.ts'
import {
  deleteOldPlaces,
  listAccountsWithOldPlaces,
  listFrozenCountries,
  lockOldPlaces,
  moveOldPlaces,
  STRETCH_IDS,
  updateOldPlaces,
} from './old-places-queries.ts'

/**
 * Invoices that were issued before they kept the country of their customer take it from their frozen text, a stretch of identifiers in each
 * transaction: an upgrade does not wait for it. Rule: the country that the frozen text names, never that of the customer of today.
 */

const LOOK_EVERY_MS = 3_600_000

/** Finds the countries of a stretch of an account's invoices. Returns whether there are more of them. */
async function findPlaces(tx: Transaction): Promise<boolean> {
  const places = await lockOldPlaces(tx)
  if (!places) return false
  const texts = await listFrozenCountries(tx, places)
  const named = texts.flatMap(({ text }) => {
    const country = findCountry(text)
    return country ? [{ text, id: country.countryId }] : []
  })
  if (named.length > 0) await updateOldPlaces(tx, places, named)
  const nextId = places.nextId + STRETCH_IDS
  if (nextId > places.lastId) await deleteOldPlaces(tx)
  else await moveOldPlaces(tx, nextId)
  return nextId <= places.lastId
}

export const oldPlacesDuty: Duty = {
  name: 'find countries of old invoices',
  everyMs: LOOK_EVERY_MS,
  run: async ({ db }, goOn) => {
    const accounts = await listAccountsWithOldPlaces(db.unscoped)
    for (const { account } of accounts)
      do goOn()
      while (await db.transaction(account, findPlaces))
    return accounts.length > 0 ? 'again' : undefined
  },
}
