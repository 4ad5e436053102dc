import { demoClient, type Send } from '../../src/demo/client.ts'
import { liveStory } from '../../src/demo/story.ts'
import { addMonths, type IsoDate } from '../../src/kernel/calendar.ts'
import { midnightOf } from '../../src/kernel/zone.ts'
import type { TestService } from '../support/app.ts'

/** Lives through the story of the demo up to a day, in an account of its own. */
export async function demo(service: TestService, lastDay: IsoDate, wish: { seed: number; customers: number }) {
  const firstDay = addMonths(lastDay, -12)
  const account = await service.newAccount({ currency: 'EUR', clockAt: midnightOf(firstDay, 'Europe/Dublin') })
  const send: Send = (method, path, body) =>
    account.request(method, path, body, typeof body === 'string' ? { 'content-type': 'text/plain' } : {})
  const client = demoClient(send)
  const moment = `${lastDay}T15:00:00.000Z`
  const outcome = await liveStory(
    client,
    { ...wish, firstDay, lastDay, now: moment },
    { lived: () => {}, lastDayComes: () => {} },
  )
  return { account, outcome, client, firstDay, moment }
}
