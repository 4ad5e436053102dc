import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { isPasswordOf } from './password.ts'

const service = await startTestService({ hashesPasswords: true })

interface Mail {
  To: string
  Subject: string
  Text: string
  Html: string
  Status: string
}

const newCustomer = async (client: TestClient, wish: object = {}): Promise<number> =>
  (await client.post('/v1/customers', { Name: 'Acme', isCompany: true, ...wish })).body.customerID

const jane = (customerID: number, wish: object = {}) => ({
  customerID,
  Name: 'Jane',
  LastName: 'Łódź',
  Email: 'jane@example.com',
  ...wish,
})

const mailsOf = async (client: TestClient): Promise<Mail[]> => (await client.get('/v1/outbox')).body

/** Reads the username and password of a contact from the text of the mail. */
const credentialsIn = ({ Text }: Mail) => ({
  username: /Username: (.*)/.exec(Text)?.[1],
  password: /Password: (.*)/.exec(Text)?.[1],
})

const hashOf = async (client: TestClient, id: number) =>
  (
    await service.db
      .reader(client.id)
      .rows<{ hash: string | null }>(
        sql`select password_hash as "hash" from customer_contacts where account_id = ${client.id} and contact_id = ${id}`,
      )
  )[0]?.hash ?? null

describe('adding', () => {
  test('an inactive contact is kept as sent, without credentials and without a mail', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const added = await client.post('/v1/customercontacts', jane(customerID, { Cell: '', Password: null }))
    expect(added.status).toBe(201)
    expect(added.body).toEqual({
      customerContactID: expect.any(Number),
      customerID,
      Name: 'Jane',
      LastName: 'Łódź',
      Email: 'jane@example.com',
      Cell: null,
      Username: null,
      isActive: false,
    })
    const read = await client.get(`/v1/customercontacts/${added.body.customerContactID}`)
    expect([read.body, read.headers['etag']]).toEqual([added.body, added.headers['etag']])
    expect(await mailsOf(client)).toEqual([])
    expect(await hashOf(client, added.body.customerContactID)).toBe(null)
  })

  test('an active one gets a username in ASCII and a password, both in a mail, and only a hash is kept', async () => {
    const client = await service.newAccount({ name: 'Fish & <Chips>' })
    const added = await client.post('/v1/customercontacts', jane(await newCustomer(client), { isActive: true }))
    expect(added.body.Username).toBe('jlodz')
    expect(added.text).not.toMatch(/password/i)
    const mails = await mailsOf(client)
    expect(mails).toMatchObject([
      {
        To: 'jane@example.com',
        Template: 'welcome',
        Status: 'Queued',
        SentDate: null,
        CreatedDate: '2027-01-01T00:00:00.000Z',
      },
    ])
    const [mail] = mails as [Mail]
    expect(mail.Subject).toContain('Fish & <Chips>')
    expect(mail.Html).toContain('Fish &amp; &lt;Chips&gt;')
    expect(mail.Html).not.toContain('<Chips>')
    const { username, password } = credentialsIn(mail)
    expect(username).toBe('jlodz')
    expect(password).toMatch(/^[A-Za-z0-9]{12}$/)
    expect(isPasswordOf(password as string, (await hashOf(client, added.body.customerContactID)) as string)).toBe(true)
    const stored = await service.db.reader(client.id).rows<{ all: string }>(sql`
      select coalesce(string_agg(e::text, ' '), '') || (select string_agg(o::text, ' ') from outbox o where account_id = ${client.id}) as "all"
        from event_rows e where account_id = ${client.id}`)
    expect(stored[0]?.all).toContain('jlodz')
    expect(stored[0]?.all).not.toContain(password)
  })

  test('generated usernames get a number when they are taken, a given one is refused', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const names: string[] = []
    for (const wish of [{ Username: 'JLodz' }, { isActive: true }, { isActive: true }])
      names.push((await client.post('/v1/customercontacts', jane(customerID, wish))).body.Username)
    expect(names).toEqual(['JLodz', 'jlodz2', 'jlodz3'])
    const refused = await client.post('/v1/customercontacts', jane(customerID, { Username: 'jlODZ2' }))
    expect([refused.status, refused.body.Errors[0]]).toMatchObject([409, { Code: 'username_taken', Field: 'Username' }])
    const other = await service.newAccount()
    expect(
      (await other.post('/v1/customercontacts', jane(await newCustomer(other), { Username: 'JLodz' }))).status,
    ).toBe(201)
  })

  test('contacts that are added at the same moment get usernames of their own', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const added = await Promise.all(
      [1, 2, 3].map(() => client.post('/v1/customercontacts', jane(customerID, { isActive: true }))),
    )
    expect(added.map(({ status }) => status)).toEqual([201, 201, 201])
    expect(added.map(({ body }) => body.Username).sort()).toEqual(['jlodz', 'jlodz2', 'jlodz3'])
  })

  test('all problems are told together and a password is never repeated', async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()]
    const body = {
      customerID: await newCustomer(other),
      Name: ' ',
      Email: 'nobody',
      Password: 'letters',
      isActive: 'true',
    }
    const refused = await client.post('/v1/customercontacts', body)
    expect(refused.status).toBe(400)
    expect(refused.body.Errors.map(({ Field }: { Field: string }) => Field).sort()).toEqual([
      'Email',
      'LastName',
      'Name',
      'Password',
      'customerID',
      'isActive',
    ])
    expect(refused.text).not.toContain('letters')
    expect((await client.post('/v1/customercontacts', { ...body, Password: 12345678 })).text).not.toContain('12345678')
  })

  test('a mail speaks the language of its customer', async () => {
    const client = await service.newAccount()
    await client.post('/v1/customercontacts', jane(await newCustomer(client, { Locale: 'de-AT' }), { isActive: true }))
    const [mail] = (await mailsOf(client)) as [Mail]
    expect(mail.Text).toContain('Benutzername: jlodz')
    expect(mail.Html).toContain('lang="de"')
  })
})

describe('editing', () => {
  const active = async (client: TestClient) => {
    const customerID = await newCustomer(client)
    const { body } = await client.post('/v1/customercontacts', jane(customerID, { isActive: true, Cell: '1' }))
    return { customerID, path: `/v1/customercontacts/${body.customerContactID}`, id: body.customerContactID as number }
  }

  test('a blank username stays, other blank fields are cleared, and nothing changed is mailed to nobody', async () => {
    const client = await service.newAccount()
    const { customerID, path, id } = await active(client)
    const before = await hashOf(client, id)
    const etag = (await client.get(path)).headers['etag'] as string
    const edited = await client.put(path, jane(customerID, { isActive: true, Username: '' }), { 'if-match': etag })
    expect(edited.status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({ Username: 'jlodz', Cell: null, isActive: true })
    expect((await client.get(path)).headers['etag']).toBe(edited.headers['etag'])
    expect((await client.put(path, jane(customerID), { 'if-match': etag })).status).toBe(412)
    expect(await hashOf(client, id)).toBe(before)
    expect(await mailsOf(client)).toHaveLength(1)
    await client.put(path, jane(customerID))
    expect((await client.get(path)).body).toMatchObject({ Username: 'jlodz', isActive: false })
  })

  test('a new username is mailed without the password, a new password with it', async () => {
    const client = await service.newAccount()
    const { customerID, path, id } = await active(client)
    await client.put(path, jane(customerID, { isActive: true, Username: 'jane' }))
    await client.put(path, jane(customerID, { isActive: true, changePassword: true, Password: 'geheim1' }))
    await client.put(path, jane(customerID, { isActive: true, changePassword: true }))
    const told = (await mailsOf(client)).slice(1).map(credentialsIn)
    expect(told).toEqual([
      { username: 'jane', password: 'unchanged' },
      { username: 'jane', password: 'geheim1' },
      { username: 'jane', password: expect.stringMatching(/^[A-Za-z0-9]{12}$/) },
    ])
    expect(isPasswordOf(told[2]?.password as string, (await hashOf(client, id)) as string)).toBe(true)
  })

  test('changePassword false keeps the password; while inactive a new one is kept and not mailed', async () => {
    const client = await service.newAccount()
    const { customerID, path, id } = await active(client)
    const before = await hashOf(client, id)
    await client.put(path, jane(customerID, { isActive: true, changePassword: false, Password: 'geheim1' }))
    expect(await hashOf(client, id)).toBe(before)
    await client.put(path, jane(customerID, { changePassword: true, Password: 'geheim1' }))
    expect(isPasswordOf('geheim1', (await hashOf(client, id)) as string)).toBe(true)
    expect(await mailsOf(client)).toHaveLength(1)
  })

  test('a contact that becomes active gets what it lacks', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const { body } = await client.post('/v1/customercontacts', jane(customerID))
    await client.put(`/v1/customercontacts/${body.customerContactID}`, jane(customerID, { isActive: true }))
    expect((await client.get(`/v1/customercontacts/${body.customerContactID}`)).body.Username).toBe('jlodz')
    expect((await mailsOf(client)).map(credentialsIn)).toEqual([
      { username: 'jlodz', password: expect.stringMatching(/^[A-Za-z0-9]{12}$/) },
    ])
  })

  test('a taken username and a customer of another account are refused, and nothing is mailed', async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()]
    const { customerID, path } = await active(client)
    await client.post('/v1/customercontacts', jane(customerID, { Username: 'Anna' }))
    expect((await client.put(path, jane(customerID, { isActive: true, Username: 'ANNA' }))).status).toBe(409)
    expect((await client.put(path, jane(customerID, { isActive: true, Username: 'JLODZ' }))).status).toBe(204)
    const foreign = await client.put(path, jane(await newCustomer(other)))
    expect([foreign.status, foreign.body.Errors[0].Field]).toEqual([400, 'customerID'])
    expect(await mailsOf(client)).toHaveLength(2)
  })
})

test('many at once keep nobody from writing: their passwords are hashed a few at a time, without a connection', async () => {
  const [client, neighbour] = [await service.newAccount(), await service.newAccount()]
  const customerID = await newCustomer(client)
  const done: string[] = []
  const contacts = Array.from({ length: 12 }, async (_, index) => {
    const added = await client.post(
      '/v1/customercontacts',
      jane(customerID, { isActive: true, Username: `jane${index}` }),
    )
    done.push('contact')
    return added.status
  })
  const writes = Array.from({ length: 4 }, async (_, index) => {
    await newCustomer(neighbour, { Name: `Other ${index}` })
    done.push('customer')
  })
  await Promise.all(writes)
  // The one that is being hashed and the one after it may be done; the others wait for their turn.
  expect(done.filter((what) => what === 'contact').length).toBeLessThanOrEqual(4)
  expect(await Promise.all(contacts)).toEqual(contacts.map(() => 201))
  expect(await mailsOf(client)).toHaveLength(12)
})

describe('all of them', () => {
  test('are listed by customer and over all, and deleted', async () => {
    const client = await service.newAccount()
    const [one, two] = [await newCustomer(client), await newCustomer(client)]
    for (const customerID of [one, two, one]) await client.post('/v1/customercontacts', jane(customerID))
    expect((await client.get('/v1/customercontacts?page_size=2')).body).toHaveLength(2)
    const listed = await client.get(`/v1/customers/${one}/contacts`)
    expect(listed.body.map(({ customerID }: { customerID: number }) => customerID)).toEqual([one, one])
    const path = `/v1/customercontacts/${listed.body[0].customerContactID}`
    expect((await client.delete(path, undefined, { 'if-match': '"other"' })).status).toBe(412)
    expect((await client.delete(path)).status).toBe(204)
    expect((await client.delete(path)).status).toBe(404)
    expect((await client.get('/v1/customers/999999/contacts?page=0')).status).toBe(404)
    const types = (await client.get(`/v1/events?customerID=${one}&type=customer_contact.deleted`)).body
    expect(types).toMatchObject([{ RecordType: 'customer_contact', RecordID: listed.body[0].customerContactID }])
  })

  test("another account's contact is missing, and a key that may only read changes none", async () => {
    const [owner, other] = [await service.newAccount(), await service.newAccount()]
    const customerID = await newCustomer(owner)
    const { body } = await owner.post('/v1/customercontacts', jane(customerID))
    const path = `/v1/customercontacts/${body.customerContactID}`
    for (const reply of [
      await other.get(path),
      await other.put(path, {}),
      await other.delete(path),
      await other.get(`/v1/customers/${customerID}/contacts`),
    ])
      expect(reply.status).toBe(404)
    expect((await other.get('/v1/customercontacts')).body).toEqual([])
    const reader = await readOnlyClientOf(service, owner)
    for (const reply of [
      await reader.post('/v1/customercontacts', {}),
      await reader.put(path, {}),
      await reader.delete(path),
    ])
      expect(reply.status).toBe(403)
  })
})
