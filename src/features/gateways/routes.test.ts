import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'

const service = await startTestService()

const liveAccount = () => service.newAccount({ mode: 'live', clockAt: null })
const codesOf = (reply: { body: any }) =>
  reply.body.Errors.map(({ Code, Field }: { Code: string; Field: string }) => `${Code} ${Field}`)

async function newManual(client: TestClient, body: object = {}) {
  const added = await client.post('/v1/gateways', { GatewayType: 'manual', ...body })
  expect(added.status).toBe(201)
  return { ...added.body, path: `/v1/gateways/${added.body.gatewayID}` }
}

const isPrimaryOf = async (client: TestClient, path: string) => (await client.get(path)).body.isPrimary

test('a test account starts with its sandbox, a live one without a gateway', async () => {
  const client = await service.newAccount({ currency: 'EUR' })
  await client.post('/v1/currencies', { CurrencyCode: 'USD' })
  const { body } = await client.get('/v1/gateways')
  expect(body).toEqual([
    {
      gatewayID: expect.any(Number),
      GatewayToken: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      GatewayName: 'Sandbox',
      FriendlyName: 'Sandbox',
      GatewayType: 'sandbox',
      isActive: true,
      isTestMode: true,
      isAcceptCC: true,
      isAcceptBankDD: true,
      isEnabled: true,
      SettingsSet: [],
      KeyEnding: null,
      isPrimary: false,
      isManualRecon: false,
      isFourEyes: false,
      CurrencyCodes: ['EUR', 'USD'],
      DebitMethods: ['debit_order', 'ach', 'sepa'],
      HeldFor: null,
    },
  ])
  const [{ Type, Record }] = (await client.get('/v1/events?type=gateway.created')).body
  expect([Type, Record]).toEqual(['gateway.created', { ...body[0], CurrencyCodes: ['EUR'] }])
  expect((await (await liveAccount()).get('/v1/gateways')).body).toEqual([])
})

test('a gateway is added, read, changed by what is sent, and deleted', async () => {
  const client = await service.newAccount()
  const added = await client.post('/v1/gateways', {
    GatewayType: 'manual',
    FriendlyName: 'Our bank',
    CurrencyCodes: ['EUR', 'ZAR'],
    DebitMethods: ['SEPA'],
    isFourEyes: true,
  })
  expect([added.status, added.headers['location']]).toEqual([201, `/v1/gateways/${added.body.gatewayID}`])
  expect(added.body).toMatchObject({
    GatewayName: 'Manual',
    FriendlyName: 'Our bank',
    isActive: true,
    isTestMode: true,
    isAcceptCC: false,
    isAcceptBankDD: true,
    isEnabled: true,
    isManualRecon: true,
    isFourEyes: true,
    CurrencyCodes: ['EUR', 'ZAR'],
    DebitMethods: ['sepa'],
  })
  const path = `/v1/gateways/${added.body.gatewayID}`
  const { headers } = await client.get(path)
  const etag = headers['etag'] as string
  expect((await client.put(path, { isActive: false, DebitMethods: null }, { 'if-match': etag })).status).toBe(204)
  expect((await client.put(path, { isActive: true }, { 'if-match': etag })).status).toBe(412)
  const changed = { ...added.body, isActive: false, DebitMethods: ['debit_order', 'ach', 'sepa'] }
  expect((await client.get(path)).body).toEqual(changed)
  // A record read can be sent back.
  expect((await client.put(path, changed, { prefer: 'handling=strict' })).status).toBe(204)
  expect((await client.get(path)).body).toEqual(changed)
  expect((await client.delete(path)).status).toBe(204)
  expect([(await client.get(path)).status, (await client.delete(path)).status]).toEqual([404, 404])
  const types = (await client.get('/v1/events')).body.map(({ Type }: { Type: string }) => Type)
  expect(types.filter((type: string) => type.startsWith('gateway.'))).toEqual([
    'gateway.created',
    'gateway.created',
    'gateway.updated',
    'gateway.updated',
    'gateway.deleted',
  ])
})

describe('Settings', () => {
  test('are merged by name, sealed, and never answered nor in an event', async () => {
    const client = await service.newAccount()
    const { path, gatewayID } = await newManual(client, { Settings: { CutOff: '17:31', LeadDays: 3 } })
    const stored = async () => {
      const [row] = await service.db
        .reader(client.id)
        .rows<{ settings: Buffer; names: string[] }>(
          sql`select settings, setting_names as "names" from gateways where account_id = ${client.id} and gateway_id = ${gatewayID}`,
        )
      return row
    }
    const before = (await client.get(path)).headers['etag']
    expect((await client.put(path, { Settings: { LeadDays: null, SubmitDays: 1 } })).status).toBe(204)
    expect((await client.get(path)).headers['etag']).not.toBe(before)
    expect((await stored())?.names).toEqual(['CutOff', 'SubmitDays'])
    expect((await stored())?.settings.toString('latin1')).not.toContain('17:31')
    const events = await client.get('/v1/events')
    expect((await client.get(path)).text + events.text).not.toMatch(/17:31|Settings"/)
    expect((await client.put(path, { Settings: { CutOff: null, SubmitDays: null } })).status).toBe(204)
    expect(await stored()).toEqual({ settings: null, names: [] })
  })

  test.each([
    [{ CutOff: '25:00' }, ['invalid Settings.CutOff']],
    [{ LeadDays: '3', SubmitDays: 31 }, ['wrong_type Settings.LeadDays', 'out_of_range Settings.SubmitDays']],
    [
      { Password: 'hunter22', Calendar: 'Moon' },
      ['setting_unknown Settings.Password', 'unknown_word Settings.Calendar'],
    ],
    ['hunter22', ['wrong_type Settings']],
  ])('%j are refused by name, and their values are not repeated', async (Settings, expected) => {
    const client = await service.newAccount()
    const { path } = await newManual(client)
    for (const refused of [
      await client.post('/v1/gateways', { GatewayType: 'manual', Settings }),
      await client.put(path, { Settings }),
    ]) {
      expect(refused.status).toBe(400)
      expect(codesOf(refused)).toEqual(expected)
      expect(refused.text).not.toMatch(/25:00|hunter|Moon|"3"|31 was/)
    }
  })
})

describe('the primary gateway', () => {
  test('takes its kinds from the other, which stays primary for the rest', async () => {
    const client = await service.newAccount()
    const [sandbox] = (await client.get('/v1/gateways')).body
    const path = `/v1/gateways/${sandbox.gatewayID}`
    expect((await client.put(path, { isPrimary: true })).status).toBe(204)
    const banks = await newManual(client, { DebitMethods: ['sepa', 'ach'], isPrimary: true })
    expect([await isPrimaryOf(client, path), await isPrimaryOf(client, banks.path)]).toEqual([true, true])
    const other = await newManual(client, { isPrimary: true })
    expect([await isPrimaryOf(client, path), await isPrimaryOf(client, banks.path)]).toEqual([true, false])
    expect((await client.put(other.path, { isPrimary: false })).status).toBe(204)
    expect(await isPrimaryOf(client, other.path)).toBe(false)
  })

  test('sent back as it was read takes nothing from another', async () => {
    const client = await service.newAccount()
    const one = await newManual(client, { isPrimary: true })
    const two = await newManual(client, { isPrimary: true, DebitMethods: ['sepa'] })
    expect((await client.put(one.path, { isPrimary: true })).status).toBe(204)
    expect(await isPrimaryOf(client, two.path)).toBe(true)
  })
})

describe('refused', () => {
  test('a type that is not built, a kind that it does not take, more than 20', async () => {
    const client = await service.newAccount()
    expect(codesOf(await client.post('/v1/gateways', { GatewayType: 'paypal' }))).toEqual(['unknown_word GatewayType'])
    expect(codesOf(await client.post('/v1/gateways', {}))).toEqual(['required GatewayType'])
    expect(
      codesOf(
        await client.post('/v1/gateways', { GatewayType: 'manual', CurrencyCodes: ['XXX'], DebitMethods: ['cash'] }),
      ),
    ).toEqual(['unknown_currency CurrencyCodes[0]', 'unknown_word DebitMethods[0]'])
    for (let count = 1; count < 20; count += 1) await newManual(client)
    const refused = await client.post('/v1/gateways', { GatewayType: 'manual' })
    expect([refused.status, refused.body.Errors[0].Message]).toEqual([400, 'An account may have at most 20 gateways.'])
  })

  test('a sandbox on a live account, a second one, and its deletion; it can be made inactive', async () => {
    const live = await liveAccount()
    expect(codesOf(await live.post('/v1/gateways', { GatewayType: 'sandbox' }))).toEqual(['gateway_mode GatewayType'])
    const client = await service.newAccount()
    const second = await client.post('/v1/gateways', { GatewayType: 'sandbox' })
    expect([second.status, codesOf(second)]).toEqual([409, ['gateway_given GatewayType']])
    const path = `/v1/gateways/${(await client.get('/v1/gateways')).body[0].gatewayID}`
    expect((await client.delete(path)).status).toBe(409)
    expect((await client.put(path, { isActive: false })).status).toBe(204)
    expect((await client.get(path)).body.isActive).toBe(false)
  })

  test('another GatewayType', async () => {
    const client = await service.newAccount()
    const { path } = await newManual(client)
    const refused = await client.put(path, { GatewayType: 'sandbox' })
    expect([refused.status, codesOf(refused)]).toEqual([409, ['gateway_type_fixed GatewayType']])
    expect((await client.put(path, { GatewayType: 'manual' })).status).toBe(204)
  })

  test("another account's gateway, and every change by a key that may only read", async () => {
    const [owner, other] = [await service.newAccount(), await service.newAccount()]
    const { path } = await newManual(owner)
    for (const reply of [await other.get(path), await other.put(path, {}), await other.delete(path)])
      expect(reply.status).toBe(404)
    const reader = await readOnlyClientOf(service, owner)
    expect((await reader.get(path)).status).toBe(200)
    for (const reply of [await reader.post('/v1/gateways', {}), await reader.put(path, {}), await reader.delete(path)])
      expect(reply.status).toBe(403)
  })
})

test('the sandbox takes the currencies of its account, whatever is sent', async () => {
  const client = await service.newAccount()
  const path = `/v1/gateways/${(await client.get('/v1/gateways')).body[0].gatewayID}`
  expect((await client.put(path, { CurrencyCodes: ['JPY'] })).status).toBe(204)
  expect((await client.get(path)).body.CurrencyCodes).toEqual(['USD'])
})

describe('a gateway of type stripe', () => {
  const settings = (fields: object = {}) => ({ SecretKey: 'rk_test_1', PublishableKey: 'pk_test_1', ...fields })
  const add = (client: TestClient, body: object) => client.post('/v1/gateways', { GatewayType: 'stripe', ...body })

  test('takes cards in the currencies of the account, except those that Stripe counts in another unit', async () => {
    const client = await service.newAccount()
    await client.post('/v1/currencies', { CurrencyCode: 'IQD' })
    const added = await add(client, { Settings: settings({ StatementSuffix: 'Box' }) })
    expect([added.status, added.body]).toEqual([
      201,
      expect.objectContaining({
        // Nobody answers here whether the key is accepted.
        isEnabled: false,
        SettingsSet: ['PublishableKey', 'SecretKey', 'StatementSuffix'],
        KeyEnding: 'st_1',
        isAcceptCC: true,
        isAcceptBankDD: false,
        CurrencyCodes: ['USD'],
      }),
    ])
    expect(added.text).not.toMatch(/[rp]k_test/)
    expect(codesOf(await add(client, { Settings: settings(), CurrencyCodes: ['USD', 'UGX'] }))).toEqual([
      'currency_unfit CurrencyCodes',
    ])
  })

  test.each([
    [{}, ['required Settings.SecretKey', 'required Settings.PublishableKey']],
    [{ Settings: { SecretKey: 'sk_test_1' } }, ['required Settings.PublishableKey']],
    [{ Settings: settings({ SecretKey: 'pk_test_planted' }) }, ['invalid Settings.SecretKey']],
    [{ Settings: settings({ PublishableKey: 'sk_test_planted' }) }, ['invalid Settings.PublishableKey']],
    [{ Settings: settings({ SecretKey: 'sk_live_planted' }) }, ['key_mode Settings.SecretKey']],
    [{ Settings: settings({ PublishableKey: 'pk_live_planted' }) }, ['key_mode Settings.PublishableKey']],
    [{ Settings: settings({ WebhookSecrets: ['whsec_1', 'planted'] }) }, ['invalid Settings.WebhookSecrets[1]']],
    [{ Settings: settings({ StatementSuffix: '12345' }) }, ['invalid Settings.StatementSuffix']],
    [{ Settings: settings({ StatementSuffix: 'A'.repeat(23) }) }, ['too_long Settings.StatementSuffix']],
    [{ Settings: settings({ SecretKee: 'planted' }) }, ['setting_unknown Settings.SecretKee']],
  ])('is refused with %j, and no message repeats a key', async (body, problems) => {
    const reply = await add(await service.newAccount(), body)
    expect([reply.status, codesOf(reply)]).toEqual([400, problems])
    expect(reply.text).not.toContain('planted')
  })

  test('of a live account takes live keys alone, and keeps its needed ones', async () => {
    const client = await liveAccount()
    expect(codesOf(await add(client, { Settings: settings() }))).toEqual([
      'key_mode Settings.SecretKey',
      'key_mode Settings.PublishableKey',
    ])
    const live = { SecretKey: 'rk_live_1', PublishableKey: 'pk_live_1' }
    const added = await add(client, { Settings: live })
    expect(added.status, added.text).toBe(201)
    const path = `/v1/gateways/${added.body.gatewayID}`
    expect(codesOf(await client.put(path, { Settings: { SecretKey: null } }))).toEqual(['required Settings.SecretKey'])
    expect((await client.put(path, { Settings: { SecretKey: 'rk_live_2' } })).status).toBe(204)
    expect((await client.put(path, { isActive: false })).status).toBe(204)
  })
})
