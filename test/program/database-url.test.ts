import { describe, expect, test } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { call, runProgram, serve, testFolder } from './program.ts'

describe('a server given by DATABASE_URL', () => {
  test.each([
    ['a login that may create roles and owns the database', 'createrole'],
    ['a superuser', 'superuser'],
  ])(
    '%s is enough, several processes share it, and the service works under a role that owns nothing',
    async (_, right) => {
      const { admin, url } = await foreignServer()
      await admin.query(`create role billing login ${right}`)
      await admin.query('create database billing owner billing')
      const env = { DATABASE_URL: url('billing', 'billing'), DATA_DIR: testFolder() }
      const first = await serve(env)
      const second = await serve(env)
      const made = await call(first, first, '/v1/customers', { Name: 'Ann', LastName: 'Lee' })
      expect(made.status).toBe(201)
      expect((await call(second, first, `/v1/customers/${made.body.customerID}`)).status).toBe(200)
      expect(second.account).toBeUndefined()
      expect(JSON.parse((await runProgram(['account', 'list', '--json'], env)).out)).toHaveLength(1)

      const { rows } = await admin.query<{ usename: string }>(
        `select distinct r.rolname from pg_stat_activity a join pg_roles r on r.oid = a.usesysid where a.datname = 'billing'`,
      )
      expect(rows).toEqual([{ rolname: 'billing' }])
      const { rows: roles } = await admin.query(
        `select rolsuper, rolbypassrls, rolcanlogin from pg_roles where rolname = 'perennial_app'`,
      )
      expect(roles).toEqual([{ rolsuper: false, rolbypassrls: false, rolcanlogin: false }])
      first.child.kill('SIGTERM')
      const { code, err } = await first.ended
      expect(code).toBe(0)
      expect(err).not.toContain('never-shown')
    },
  )

  test('a login that may not create roles gets the lines for its administrator, and then works with them', async () => {
    const { admin, url } = await foreignServer()
    await admin.query('create role plain login')
    await admin.query('create database billing owner plain')
    const env = { DATABASE_URL: url('plain', 'billing'), DATA_DIR: testFolder() }
    const refused = await runProgram(['migrate'], env)
    expect(refused.code).toBe(1)
    const [, lines = ''] = /run {2}(create role .*;) {2}in database billing/.exec(refused.err) ?? []
    await admin.query(lines)
    expect(await runProgram(['migrate'], env)).toMatchObject({ code: 0 })
  })
})
