import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { SmtpLine } from './connection.ts'

/** A mail server of few words, which keeps every command that it hears and answers the body as it is given. */
async function startListener(answer: string) {
  const heard: string[] = []
  let isBody = false
  const server = createServer((socket) => {
    socket.setEncoding('utf8').write('220 here\r\n')
    socket.on('error', () => {})
    socket.on('data', (text: string) => {
      for (const line of text.split('\r\n').filter((one) => one !== '')) {
        heard.push(line)
        if (isBody && line !== '.') continue
        socket.write(line === '.' ? answer : line === 'DATA' ? '354 go on\r\n' : '250 fine\r\n')
        isBody = line === 'DATA'
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const line = new SmtpLine({ settings: { host: '127.0.0.1', port, encryption: 'offered', login: null } })
  onTestFinished(() => line.close())
  const send = (mayLeave: boolean) => {
    const to = ['zoe@Bücher.example', 'ann@Plain.example']
    return line.send({ from: 'a@b.example', to, bytes: Buffer.from('Hello\r\n'), handOver: async () => mayLeave })
  }
  return { heard, send }
}

test('a domain beyond ASCII is named as every server knows it, and the answer is about the address that was given', async () => {
  const { heard, send } = await startListener('250 taken\r\n')
  expect(await send(true)).toMatchObject({
    outcome: 'taken',
    accepted: ['zoe@Bücher.example', 'ann@Plain.example'],
  })
  expect(heard.filter((line) => line.startsWith('RCPT'))).toEqual([
    'RCPT TO:<zoe@xn--bcher-kva.example>',
    'RCPT TO:<ann@Plain.example>',
  ])
})

test.each([
  ['250 taken\r\n', 'taken'],
  ['550 no\r\n', 'refused'],
  ['421 later\r\n', 'refused'],
  ['354 go on\r\n', 'unknown'],
  ['hello\r\n', 'unknown'],
])('after the body %j is %s', async (answer, outcome) => {
  expect((await (await startListener(answer)).send(true)).outcome).toBe(outcome)
})

test('a body that may not leave is not sent, nor ended', async () => {
  const { heard, send } = await startListener('250 taken\r\n')
  expect(await send(false)).toEqual({ outcome: 'withheld' })
  expect(heard.at(-1)).toBe('DATA')
})
