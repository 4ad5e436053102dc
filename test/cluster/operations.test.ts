import { beforeEach, describe, expect, test } from 'vitest'
import { type DocumentedOperation, operationsOf, readDocument } from '../api/document.ts'
import { rightBody, writeJson } from '../api/samples.ts'
import { makeWorld, pathOf, RECIPES, type World } from '../api/world.ts'
import { answeredRoutes, startTestService } from '../support/app.ts'
import { missingForCluster } from './servers.ts'

/**
 * The service on a distributed database, over HTTP and with test clocks: tests that are written for one server run here as they are, each with accounts of its own.
 */

const MISSING = missingForCluster()
const needs = MISSING === undefined ? '' : ` (needs ${MISSING})`

const HALF_AN_HOUR = 'what others have written counts as settled after half an hour, and an export ends there'

const STRIPE = 'what calls Stripe needs a simulator in its place'

/** Tests that hold on one server alone, by their names, and why. */
const DIFFERS: Readonly<Record<string, string>> = { addExport: HALF_AN_HOUR }

/** Operations that no test has answered with success here, and why. */
const NOT_ANSWERED: Readonly<Record<string, string>> = {
  addExport: HALF_AN_HOUR,
  getExport: HALF_AN_HOUR,
  getExportFile: HALF_AN_HOUR,
  deleteExport: HALF_AN_HOUR,
  connectGateway: STRIPE,
  disconnectGateway: STRIPE,
}

const TRIES = 20

const routeOf = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

/** Sends what the operation accepts until it is taken; a made-up path may name a record in another state, so others are tried. */
async function tryOut(operation: DocumentedOperation, world: World): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const recipe = await RECIPES[operation.id]?.(world)
    const body = recipe ? recipe.body : rightBody(operation, world)
    const { status } = await world.client.request(
      operation.method,
      recipe?.path ?? pathOf(operation, world) ?? operation.path,
      recipe?.payload ?? (body && writeJson(body)),
    )
    if (status < 300) return
  }
}

describe.skipIf(MISSING !== undefined)(`the service on Citus${needs}`, async () => {
  if (MISSING !== undefined) return void test('every operation was answered with success', () => {})
  beforeEach(({ task, skip }) => {
    const reason = DIFFERS[task.name]
    if (reason !== undefined) skip(reason)
  })

  describe('examples of the document', async () => {
    await import('../api/examples.test.ts')
  })
  describe('walls between accounts', async () => {
    await import('../api/tenancy.test.ts')
  })

  describe('cards in fields of a gateway', async () => {
    await import('../../src/features/capture-sessions/fields.test.ts')
  })
  describe('refunds', async () => {
    await import('../../src/features/refunds/routes.test.ts')
  })
  // One after the other: its duties work for all accounts.
  describe('filters, books and duties', async () => {
    await import('./asked.testing.ts')
  })

  describe('in all', () => {
    test('every operation was answered with success', async () => {
      const service = await startTestService()
      const operations = operationsOf(await readDocument(service))
      const missed = () => operations.filter(({ method, path }) => !answeredRoutes.has(`${method} ${routeOf(path)}`))
      const world = await makeWorld(service, operations, 'all')
      for (const operation of missed()) if (!(operation.id in NOT_ANSWERED)) await tryOut(operation, world)
      expect(
        missed()
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual(Object.keys(NOT_ANSWERED).toSorted())
    })
  })
})
