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
}

const needed = (name: string): string => {
  const value = process.env[name]
  if (!value) throw new Error(`Set ${name}: the first start of the service prints it.`)
  return value
}

/** The account and key are those that `npm start` printed; the address is its default. */
export function clientFromEnvironment(): Client {
  const address = process.env['PERENNIAL_URL'] || 'http://127.0.0.1:3000'
  const credentials = Buffer.from(`${needed('PERENNIAL_ACCOUNT')}:${needed('PERENNIAL_KEY')}`).toString('base64')
  const request = async (
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply> => {
    const response = await fetch(new URL(path, address), {
      method,
      headers: {
        authorization: `Basic ${credentials}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await response.text()
    const reply = {
      status: response.status,
      body: text === '' ? undefined : JSON.parse(text),
      headers: response.headers,
    }
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${messagesOf(reply.body)}`)
    return reply
  }
  return {
    get: (path) => request('GET', path),
    post: (path, body, headers) => request('POST', path, body, headers),
    put: (path, body) => request('PUT', path, body),
  }
}

const messagesOf = (body: any): string => (body?.Errors ?? []).map((error: any) => error.Message).join(' ')
