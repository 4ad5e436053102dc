import type { RequestContext } from '../../kernel/context.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { lookupOperation, type Operation, writeOperation } from '../../platform/http/operation.ts'
import { recordEvent } from '../events/record.ts'
import { insertUntriedDunning, wakeAll } from './queries.ts'
import { getCollectionRules, lockCollectionRules, updateCollectionRules } from './rules-queries.ts'
import {
  checkCollectionRulesBody,
  collectionRulesEtag,
  collectionRulesFromWire,
  CollectionRulesIn,
  CollectionRulesOut,
  collectionRulesToWire,
} from './rules-wire.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'

const tag = 'Collection'

async function answerRules(db: Queryable, { account }: RequestContext): Promise<Answer> {
  const rules = await getCollectionRules(db, account.id)
  const body = CollectionRulesOut.write(collectionRulesToWire(rules))
  return { status: 200, body, etag: collectionRulesEtag(rules) }
}

export const collectionRulesOperations = (): Operation[] => [
  lookupOperation({
    id: 'getCollectionRules',
    path: '/v1/collectionrules',
    tag,
    summary: 'Read the rules by which unpaid invoices are collected',
    success: { status: 200, schema: CollectionRulesOut.schema },
    read: answerRules,
  }),
  writeOperation({
    id: 'editCollectionRules',
    method: 'PUT',
    path: '/v1/collectionrules',
    tag,
    summary: 'Change the rules by which unpaid invoices are collected: only what is sent',
    body: CollectionRulesIn,
    representation: { schema: CollectionRulesOut.schema, headers: ['ETag'], read: answerRules },
    record: lockCollectionRules,
    etag: collectionRulesEtag,
    references: async (_tx, _context, { body }, problems) => checkCollectionRulesBody(body, problems),
    write: async (tx, context, { body }, present) => {
      const rules = collectionRulesFromWire(body, present, context.moment.today)
      await updateCollectionRules(tx, rules)
      if (rules.untriedSince !== null && present.untriedSince === null)
        await insertUntriedDunning(tx, context.moment.today)
      if (JSON.stringify(rules) !== JSON.stringify(present)) await wakeAll(tx, context.moment.today)
      const record = CollectionRulesOut.write(collectionRulesToWire(rules))
      await recordEvent(tx, context, { type: 'collection_rules.updated', recordId: tx.account, record })
      return noContent(collectionRulesEtag(rules))
    },
  }),
]
