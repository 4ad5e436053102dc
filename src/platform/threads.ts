import { Worker } from 'node:worker_threads'

/**
 * Threads that do heavy work beside the event loop: bytes in, bytes out, one piece of work at a time each. A thread that dies takes its
 * piece of work with it and nothing else; the next one starts a new thread.
 */

/** Reply of a thread: bytes, a refusal with a code of its own, or an error. */
export type ThreadReply = { bytes: Uint8Array } | { refusal: string } | { error: Error }

/** Refusal of the work by the thread; `code` is the reason. */
export class ThreadRefusal extends Error {
  readonly code: string

  constructor(code: string) {
    super(`a thread refused its work: ${code}`)
    this.code = code
  }
}

/** The thread ended before it answered: its memory was full, its time was over, or it broke. */
export class ThreadDeath extends Error {
  readonly reason: 'memory' | 'time' | 'crash'

  constructor(reason: 'memory' | 'time' | 'crash', cause?: unknown) {
    super(`a thread ended at its work: ${reason}`, { cause })
    this.reason = reason
  }
}

export interface ThreadsSettings {
  /** The program of a thread. */
  program: URL
  /** Of a thread's JavaScript; buffers do not count. */
  heapMb: number
  /** After which a piece of work is given up, in milliseconds. */
  timeMsMax: number
  /** Given to every thread when it starts. */
  data?: unknown
}

export class Threads {
  readonly #settings: ThreadsSettings
  readonly #threads = new Set<Thread>()
  #isClosed = false

  constructor(settings: ThreadsSettings) {
    this.#settings = settings
  }

  /**
   * Hands work to a thread that has none, and starts one where all have: who calls bounds how many run. The input's memory goes with it.
   * Throws ThreadRefusal, ThreadDeath, or the error that the thread met.
   */
  async run(input: Uint8Array): Promise<Uint8Array> {
    if (this.#isClosed) throw new ThreadDeath('crash')
    const thread = [...this.#threads].find(({ isFree }) => isFree) ?? this.#start()
    return thread.work(input)
  }

  #start(): Thread {
    const thread = new Thread(this.#settings, () => this.#threads.delete(thread))
    this.#threads.add(thread)
    return thread
  }

  /** Ends the threads; what they were doing fails. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#threads].map((thread) => thread.end()))
  }
}

/** Thread with the task that it is working on. */
class Thread {
  readonly #worker: Worker
  readonly #timeMsMax: number
  #doing: { resolve(bytes: Uint8Array): void; reject(error: Error): void } | undefined
  #death: ThreadDeath | undefined
  #hasEnded = false

  constructor({ program, heapMb, timeMsMax, data }: ThreadsSettings, ended: () => void) {
    this.#timeMsMax = timeMsMax
    // It needs no setting of the environment, and so learns no secret.
    const resourceLimits = { maxOldGenerationSizeMb: heapMb }
    this.#worker = new Worker(program, { resourceLimits, env: {}, execArgv: [], workerData: data })
    this.#worker.on('message', (reply: ThreadReply) => this.#settle(reply))
    this.#worker.on('error', (error: Error & { code?: string }) => {
      this.#death ??= new ThreadDeath(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'crash', error)
    })
    this.#worker.on('exit', () => {
      this.#hasEnded = true
      ended()
      this.#doing?.reject(this.#death ?? new ThreadDeath('crash'))
    })
    // Whoever waits for a document keeps the process alive; an idle thread does not.
    this.#worker.unref()
  }

  get isFree(): boolean {
    return this.#doing === undefined && this.#death === undefined && !this.#hasEnded
  }

  work(input: Uint8Array): Promise<Uint8Array> {
    const timer = setTimeout(() => {
      this.#death ??= new ThreadDeath('time')
      void this.#worker.terminate()
    }, this.#timeMsMax)
    this.#worker.ref()
    return new Promise<Uint8Array>((resolve, reject) => {
      this.#doing = { resolve, reject }
      this.#worker.postMessage(input, [input.buffer as ArrayBuffer])
    }).finally(() => {
      clearTimeout(timer)
      this.#doing = undefined
      this.#worker.unref()
    })
  }

  #settle(reply: ThreadReply): void {
    if ('bytes' in reply) this.#doing?.resolve(reply.bytes)
    else this.#doing?.reject('refusal' in reply ? new ThreadRefusal(reply.refusal) : reply.error)
  }

  async end(): Promise<void> {
    this.#death ??= new ThreadDeath('crash')
    await this.#worker.terminate()
  }
}
