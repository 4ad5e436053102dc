/** How the demo speaks to the service: with requests like everybody else, so that nothing in it could not have happened. */

export interface Answer {
  status: number
  /** The body as JSON; undefined when there is none, or it is a text. */
  body: unknown
  /** The body as it came. */
  text: string
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** Sends an object as JSON, a text as it is. */
export type Send = (method: Method, path: string, body?: object | string) => Promise<Answer>

/** Answer of a request, read by name; the interface is checked elsewhere. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

const PAGE_SIZE = 200

/** A client whose requests are all meant to succeed. */
export interface DemoClient {
  get(path: string): Promise<Json>
  post(path: string, body: object): Promise<Json>
  put(path: string, body?: object): Promise<Json>
  delete(path: string): Promise<Json>
  /** A file. */
  text(path: string): Promise<string>
  sendText(path: string, body: string): Promise<Json>
  /** Every record of a list, page by page. */
  all(path: string): Promise<Json[]>
}

/** A request of the demo was refused: a bug of the demo, whose message helps to find it. */
export class DemoRefused extends Error {
  constructor(method: Method, path: string, { status, body }: Answer) {
    super(`The demo could not go on: ${method} ${path} was answered ${status} ${JSON.stringify(body)}`)
  }
}

export function demoClient(send: Send): DemoClient {
  const ask = async (method: Method, path: string, body?: object | string): Promise<Answer> => {
    const answer = await send(method, path, body)
    if (answer.status >= 300) throw new DemoRefused(method, path, answer)
    return answer
  }
  return {
    get: async (path) => (await ask('GET', path)).body,
    post: async (path, body) => (await ask('POST', path, body)).body,
    put: async (path, body) => (await ask('PUT', path, body)).body,
    delete: async (path) => (await ask('DELETE', path)).body,
    text: async (path) => (await ask('GET', path)).text,
    sendText: async (path, body) => (await ask('POST', path, body)).body,
    all: async (path) => {
      const found: Json[] = []
      for (let page = 1; ; page += 1) {
        const { body } = await ask('GET', `${path}${path.includes('?') ? '&' : '?'}page=${page}&page_size=${PAGE_SIZE}`)
        found.push(...(body as Json[]))
        if ((body as Json[]).length < PAGE_SIZE) return found
      }
    },
  }
}
