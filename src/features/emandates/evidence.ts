import { createHash } from 'node:crypto'
import { canonicalJson, type Json } from '../../platform/wire/json.ts'
import type { Evidence, Mandate } from './types.ts'

/** Evidence of a mandate: steps, each of which holds the hash of the one before, so that none can be changed or left out unnoticed. */

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const hashOf = (before: string, { kind, at, details }: Omit<Evidence, 'hash'>): string =>
  sha256(`${before}\n${kind}\n${at}\n${canonicalJson(details)}`)

/** Completes a step by its hash. */
export const chained = (before: Pick<Evidence, 'hash'> | undefined, step: Omit<Evidence, 'hash'>): Evidence => ({
  ...step,
  hash: hashOf(before?.hash ?? '', step),
})

/** Hashes the terms and the signee of a signed mandate, so that its signature holds it fast: nothing of it changes any more. */
export const mandateHash = ({
  signee,
  terms,
  kind,
  lastFour,
}: Pick<Mandate, 'signee' | 'terms' | 'kind' | 'lastFour'>) =>
  sha256(canonicalJson({ signee, terms, kind, lastFour } as unknown as Json))

/** Returns whether each step holds the hash of the one before. */
export const isUnbroken = (steps: readonly Evidence[]): boolean =>
  steps.every((step, index) => step.hash === hashOf(steps[index - 1]?.hash ?? '', step))
