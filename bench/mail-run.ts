import { Worker } from 'node:worker_threads'
import { COPY, messageOf, RECEIVER, settingsOfMailer, writeOneMail } from './mail.ts'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { startService } from './measure/service.ts'
import { billMonth, fill } from './bill-months.ts'

/** Billing runs of the service's own worker, month after month: by turns alone and while the same worker sends mails with the PDF of an invoice. */

const MAILS = 1_000
const SLOWER_MOST = 1.5

export async function benchRunBesideMail({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const count = isSmoke ? 200 : 20_000
  const mails = isSmoke ? 20 : MAILS
  const receiver = new Worker(RECEIVER, { eval: true })
  const service = await startService(settingsOfMailer(await messageOf<number>(receiver)))
  const alone: number[] = []
  const beside: number[] = []
  let hasEnded = 0
  try {
    await tellMachine(service.connection)
    await fill(service, count)
    receiver.postMessage(1, [])
    const first = messageOf(receiver)
    await writeOneMail(service)
    await first
    for (let turn = 0; turn < times; turn += 1) {
      await settle(service.connection)
      alone.push(await billMonth(service, 2 * turn, count))
      await settle(service.connection)
      receiver.postMessage(mails, [])
      let isSent = false
      const arrived = messageOf(receiver).then(() => (isSent = true))
      await asOwner(service.connection, (client) => client.query(COPY, [mails]))
      beside.push(await billMonth(service, 2 * turn + 1, count))
      if (isSent) hasEnded += 1
      await arrived
    }
    tellTable(
      [`${count.toLocaleString('en')} subscriptions renewed`, 'alone', `while ${mails} mails with a PDF are sent`],
      [['seconds', spread(alone), spread(beside)]],
    )
    if (hasEnded > 0) tell(`in ${hasEnded} of ${times} rounds the last mail arrived before the run had ended`)
    if (isNoisy(alone)) tell('noisy: runs alone moved more than twofold')
    const slower = median(ratioOf(beside, alone))
    tellVerdicts(
      [
        {
          goal: `a billing run within ${SLOWER_MOST} times while mail is sent`,
          reached: `${slower.toFixed(2)} times`,
          isMet: slower <= SLOWER_MOST,
        },
      ],
      { isSmoke },
    )
  } finally {
    await receiver.terminate()
    await service.stop()
  }
}
