/** The few lines that every example shares: a client of the HTTP interface with nothing but what Node has. */

export interface Reply {
  status: number
  /** The body as JSON; undefined where there is none. */
  body: any
  headers: Headers
}

export interface Client {
  get(path: string): Promise<Reply>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Reply>
  put(path: string, body: unknown): Promise<Reply>
  remove(path: string): Promise<Reply>
  /** Sends bytes as they are. */
  send(path: string, bytes: Buffer, type: string): Promise<Reply>
  /** Reads what is no JSON. */
  download(path: string): Promise<string>
}

const needed = (name: string): string => {
  const value = process.env[name]
  return value || stopWith(`Set ${name}: the first start of the service prints it.`)
}

/** The account and key are those that `npm start` printed; the address is its default. */
export function clientFromEnvironment(): Client {
  const address = process.env['PERENNIAL_URL'] || 'http://127.0.0.1:3000'
  const credentials = Buffer.from(`${needed('PERENNIAL_ACCOUNT')}:${needed('PERENNIAL_KEY')}`).toString('base64')
  const ask = (method: string, path: string, headers: Record<string, string>, body?: string | Buffer) =>
    reached(address, new URL(path, address), {
      method,
      headers: { authorization: `Basic ${credentials}`, ...headers },
      body: body ?? null,
    })
  const request = async (
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply> => {
    const isJson = body !== undefined && !Buffer.isBuffer(body)
    const response = await ask(
      method,
      path,
      { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
      isJson ? JSON.stringify(body) : (body as Buffer | undefined),
    )
    const text = await response.text()
    const reply = {
      status: response.status,
      body: text === '' ? undefined : answerOf(text, address),
      headers: response.headers,
    }
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${messagesOf(reply.body)}`)
    return reply
  }
  return {
    get: (path) => request('GET', path),
    post: (path, body, headers) => request('POST', path, body, headers),
    put: (path, body) => request('PUT', path, body),
    remove: (path) => request('DELETE', path),
    send: (path, bytes, type) => request('POST', path, bytes, { 'content-type': type }),
    download: async (path) => (await ask('GET', path, {})).text(),
  }
}

/** Stops the program with one sentence instead of the stack of a connection error: nobody can do anything with the rest. */
const stopWith = (message: string): never => {
  console.error(message)
  process.exit(1)
}

const reached = (address: string, url: URL, init: RequestInit): Promise<Response> =>
  fetch(url, init).catch(() =>
    stopWith(`Nothing answers at ${address}: start the service with npm start, or set PERENNIAL_URL to where it runs.`),
  )

function answerOf(text: string, address: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return stopWith(`What answers at ${address} is not Perennial: set PERENNIAL_URL to where it runs.`)
  }
}

const messagesOf = (body: any): string => (body?.Errors ?? []).map((error: any) => error.Message).join(' ')
