import type pg from 'pg'
import { type SteadyClock, steadyClock } from '../steady-clock.ts'
import { serversOf, shownServer } from './addresses.ts'
import {
  connectionEnded,
  FORMER_PRIMARY,
  isAnswer,
  isReadOnly,
  isSilence,
  oneIsSilent,
  ServerRefusal,
  serverSilent,
} from './failures.ts'

/**
 * The servers of one address: which of them takes writes, and the connections of this process to them. A server is known by its system and by the
 * start of its postmaster; of servers of one system the one with the highest timeline is the primary, and every other that takes writes a former one.
 */

/** Identity of a server; null: it does not answer that. */
export interface ServerIdentity {
  system: string | null
  startedAt: string | null
  timeline: number | null
}

export const UNKNOWN: ServerIdentity = { system: null, startedAt: null, timeline: null }

/** The answer of a server that takes writes. */
export interface ServerAnswer {
  address: string
  identity: ServerIdentity
}

/** Asks one server, by an address of it alone. Throws if it does not answer or takes no writes. */
export type Ask = (address: string) => Promise<ServerAnswer>

/**
 * Settles what a failover has lost, and returns the timeline of the server on which it did, if that is known; `before` is the timeline up to which everything
 * was settled, `wasSilent` whether the server before was frozen.
 */
export type Settle = (before: number, wasSilent: boolean) => Promise<number | undefined>

/** How long the silence of a server counts: by then each process has noticed it. */
const SILENCE_COUNTS_MS = 60_000

/** A connection to one of the servers. */
export interface ServerLink {
  /** Ends the connection at once; whoever waits on it gets the reason. */
  cut(reason: Error): void
  isWaiting(): boolean
}

const formerPrimary = (address: string): Error =>
  connectionEnded(`the database server at ${shownServer(address)} is a former primary`, FORMER_PRIMARY)

const moved = (): Error => connectionEnded('another database server takes the writes')

interface Settling {
  settled: { system: string; timeline: number }
  settle: Settle
  under: Promise<void> | undefined
}

/** Server to which a connection leads. While it is opened there is no identity: one that is frozen takes connections, too, and answers nothing. */
type Led = Pick<ServerAnswer, 'address'> & Partial<ServerAnswer>

export class Servers {
  /** An address for each server. Empty where the driver's own settings name one. */
  readonly addresses: readonly string[]
  readonly #links = new Map<ServerLink, Led>()
  /** The highest timeline that was seen of each system. */
  readonly #timelines = new Map<string, number>()
  #last: string | undefined
  /** As `#last`, also once that one is asked no more before others. */
  #used: string | undefined
  #choosing: Promise<ServerAnswer> | undefined
  /** Former primaries that were named already. */
  readonly #named = new Set<string>()
  /** The place up to which everything is settled, and what settles a server of a higher timeline. */
  #settling: Settling | undefined
  readonly #steadyClock: SteadyClock
  #silentAtMs: number | undefined
  #refusal: ServerRefusal | undefined
  /** Called with the address of each former primary, once. */
  onFormerPrimary: ((address: string) => void) | undefined

  constructor(connectionString: string | undefined, clock: SteadyClock = steadyClock) {
    this.addresses = connectionString === undefined ? [] : serversOf(connectionString)
    this.#steadyClock = clock
  }

  /** The server that was used until now ended no connection: each process finds that out at a time of its own. */
  get wasSilent(): boolean {
    return this.#silentAtMs !== undefined && this.#steadyClock() - this.#silentAtMs < SILENCE_COUNTS_MS
  }

  /** Takes that the server which is used gives no answer. */
  noteSilence(): void {
    this.#silentAtMs = this.#steadyClock()
  }

  /** Returns the address of the server that took writes last; undefined if none is known. */
  get last(): string | undefined {
    return this.addresses.length > 1 ? this.#last : this.addresses[0]
  }

  /** Forgets the server that took writes last, so that the next connection asks all. */
  forget(address: string): void {
    if (this.#last === address) this.#last = undefined
  }

  /**
   * Asks all servers at once, and returns the one that new connections go to. Rule: of those that take writes the highest timeline, among equals the
   * one used last, else the first. If none does, throws the refusal of one that lets nobody in, which may be the one that does, else that one is silent, which
   * may be it, too, else that one takes no writes, else what one of them answered, else why the last one cannot be reached. Those who ask meanwhile wait for
   * the same answer.
   */
  choose(ask: Ask): Promise<ServerAnswer> {
    this.#choosing ??= this.#choose(ask)
      .catch((error: unknown) => {
        this.noteFailure(error)
        throw error
      })
      .finally(() => (this.#choosing = undefined))
    return this.#choosing
  }

  /** Why new connections are refused, until one is made: those that are open go on, and show nothing of that. */
  get refusal(): ServerRefusal | undefined {
    return this.#refusal
  }

  /** Takes why no connection to the server that takes writes could be made. */
  noteFailure(error: unknown): void {
    this.#refusal = error instanceof ServerRefusal && error.isLasting ? error : undefined
  }

  async #choose(ask: Ask): Promise<ServerAnswer> {
    const asked = await Promise.allSettled(this.addresses.map(ask))
    const isSilent = (address: string, place: number) => {
      const one = asked[place]
      return one?.status === 'rejected' && isSilence(one.reason) && (this.#used ?? address) === address
    }
    if (this.addresses.some(isSilent)) this.noteSilence()
    const writing = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    for (const { identity } of writing) this.#note(identity)
    const primaries = writing.filter((one) => !this.#isFormer(one))
    for (const one of writing) if (!primaries.includes(one)) this.#name(one)
    primaries.sort(
      (one, other) =>
        (other.identity.timeline ?? 0) - (one.identity.timeline ?? 0) ||
        Number(other.address === this.#last) - Number(one.address === this.#last),
    )
    const [chosen] = primaries
    if (!chosen) {
      const failures = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
      const refusal = failures.find((failure) => failure instanceof ServerRefusal)
      if (writing[0] && !refusal) throw formerPrimary(writing[0].address)
      const [silence, readOnly] = [failures.find(isSilence), failures.find(isReadOnly)]
      if (silence && (refusal ?? readOnly)) throw oneIsSilent(refusal)
      // A server that refuses is there, so that no standby is to be promoted; one that waits for that matters more than another server that is gone.
      throw refusal ?? silence ?? readOnly ?? failures.find(isAnswer) ?? failures.at(-1)
    }
    this.#refusal = undefined
    this.#last = this.#used = chosen.address
    // At once, and not only before the first write: the others wait until each process has shown what it knows.
    void this.settledOn(chosen.identity).catch(() => {})
    return chosen
  }

  /** Lets connections that may write to a server of a higher timeline wait until `settle` has ended. */
  settleFrom(settled: Settling['settled'], settle: Settle): void {
    this.#settling ??= { settled, settle, under: undefined }
  }

  /** Waits until the process may write to a server. Throws what `settle` throws; the next connection tries again. */
  async settledOn({ system, timeline }: ServerIdentity): Promise<void> {
    const state = this.#settling
    if (!state || timeline === null || system === null) return
    // What is settled meanwhile may be a failover before this one.
    while (system === state.settled.system && timeline > state.settled.timeline) {
      state.under ??= this.#settle(state, { system, timeline }).finally(() => (state.under = undefined))
      await state.under
    }
  }

  async #settle(state: Settling, { system, timeline }: Settling['settled']): Promise<void> {
    const met = await state.settle(state.settled.timeline, this.wasSilent)
    state.settled = { system, timeline: Math.max(timeline, met ?? 0) }
    this.#silentAtMs = undefined
  }

  /** Takes up a connection that is being opened to an address. */
  begin(link: ServerLink, address: string): void {
    this.#links.set(link, { address })
  }

  /** Takes up a connection to a server. Throws if that is a former primary. */
  admit(link: ServerLink, answer: ServerAnswer): void {
    this.#note(answer.identity)
    if (this.#isFormer(answer)) {
      this.#name(answer)
      throw formerPrimary(answer.address)
    }
    this.#refusal = undefined
    this.#links.set(link, answer)
  }

  /** Forgets a connection that has ended. */
  dismiss(link: ServerLink): void {
    this.#links.delete(link)
  }

  /**
   * Ends every connection to another server than this one, or to it before it started anew. Of those that are being opened the ones to its address stay, if
   * there are several: one address alone may have led elsewhere when they began.
   */
  cutOthers({ address, identity: { system, startedAt } }: ServerAnswer): void {
    const isNamed = this.addresses.length > 1
    this.#cut(moved(), ({ identity, address: led }) =>
      identity ? identity.system !== system || identity.startedAt !== startedAt : !isNamed || led !== address,
    )
  }

  /** Ends every connection on which somebody waits, those that are being opened among them. */
  cutWaiting(): void {
    this.#cut(serverSilent(), (_, link) => link.isWaiting())
  }

  #cut(reason: Error, isMeant: (led: Led, link: ServerLink) => boolean): void {
    for (const [link, led] of this.#links) {
      if (!isMeant(led, link)) continue
      this.#links.delete(link)
      link.cut(reason)
    }
  }

  /** Notes the timeline of a server. Connections to a server that is now known for a former primary are ended. */
  #note({ system, timeline }: ServerIdentity): void {
    if (system === null || timeline === null || timeline <= (this.#timelines.get(system) ?? 0)) return
    this.#timelines.set(system, timeline)
    this.#cut(moved(), ({ identity }) => identity !== undefined && this.#isFormer({ identity }))
  }

  #isFormer({ identity: { system, timeline } }: Pick<ServerAnswer, 'identity'>): boolean {
    return system !== null && timeline !== null && timeline < (this.#timelines.get(system) ?? 0)
  }

  /** Names a former primary that answers, once. */
  #name({ address }: ServerAnswer): void {
    if (this.#named.has(address)) return
    this.#named.add(address)
    this.onFormerPrimary?.(address)
  }
}

/** Servers by the address that names them. */
const known = new Map<string, Servers>()

/** Returns the servers of a connection: the same for each connection of the process that has this address. */
export function serversFor({ connectionString, host, port, database }: pg.ClientConfig): Servers {
  const key = connectionString ?? `${host}:${port}/${database}`
  let servers = known.get(key)
  if (!servers) known.set(key, (servers = new Servers(connectionString)))
  return servers
}
