import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { call, keyed, runProgram, serve, type Serving, testFolder } from '../program/program.ts'
import {
  addCitus,
  addStandby,
  createDatabase,
  freePorts,
  killNode,
  missingForCluster,
  type Node,
  onNode,
  startCluster,
  startNode,
  stopCluster,
  urlOf,
} from './servers.ts'

/** A worker and the coordinator that are killed, and replaced by their standbys, and shards that are moved, while callers pay: a cluster of its own, because every other test on it would stop as well. */

const MISSING = missingForCluster()
const needs = MISSING === undefined ? '' : ` (needs ${MISSING})`

const DATABASE = 'money'
const ACCOUNTS = 6
const BACK_MS = 5_000
/** A name of an encryption key that nobody has. */
const OTHER_KEY = '0011223344556677'
const TODAY = new Date().toISOString().slice(0, 10)

const goneLines = (log: string): number => log.match(/is not reached by the coordinator/g)?.length ?? 0

/** An account that trades, and what was answered to it. */
interface Trader {
  account: number
  key: string
  customerID: number
  /** Port of the worker on which it lies. */
  worker: number
  asked: Set<string>
  acknowledged: Map<string, number>
  refused: number
  /** How often a record was read. */
  read: number
}

test.skipIf(MISSING !== undefined)(
  `while a worker and the coordinator are killed, standbys take their places and shards move, who pays is served or refused, and nothing is lost or done twice${needs}`,
  async () => {
    let isOver = false
    /** Answers that are neither success nor 503 with Retry-After. */
    const wrong = new Set<string>()

    // What a standby has acknowledged is waited for, once there is one.
    const cluster = await startCluster({ workers: 3, settings: { synchronous_commit: 'on' } })
    onTestFinished(() => stopCluster(cluster))
    const [standbyPort] = (await freePorts(1)) as [number]
    await createDatabase(cluster, DATABASE)
    await addCitus({ ...cluster, workers: cluster.workers.slice(0, 2) }, DATABASE)
    const env = {
      DATABASE_URL: urlOf(cluster.coordinator, DATABASE),
      ENCRYPTION_KEY: randomBytes(32).toString('hex'),
      DATA_DIR: testFolder(),
    }
    expect(await runProgram(['distribute'], env)).toMatchObject({ code: 0, err: '' })
    env.DATABASE_URL = env.DATABASE_URL.replace('/money', `,127.0.0.1:${standbyPort}/money`)
    const inDatabase = (statement: string) => onNode(cluster.coordinator, DATABASE, statement)

    const workerOf = async (account: number): Promise<number> =>
      (
        await inDatabase(
          `select nodeport from citus_shards where shardid = get_shard_id_for_distribution_column('perennial.accounts', ${account})`,
        )
      )[0].nodeport
    const service = await serve(env)
    const traders: Trader[] = []
    while (traders.length < ACCOUNTS) traders.push(await newTrader())
    const trading = Promise.all(traders.flatMap((trader) => [trade(trader), look(trader)]))
    await workerKilled()
    await coordinatorKilled()
    await coordinatorReplaced()
    await workerReplaced()
    await workerAdded()
    isOver = true
    await trading
    await checkAll()
    await operated(traders[0] as Trader)
    await startedWithoutLogin()

    async function newTrader(): Promise<Trader> {
      const made = await runProgram(['account', 'create', '--name', 'Trader', '--currency', 'USD', '--json'], env)
      expect(made).toMatchObject({ code: 0 })
      const { AccountID: account, ApiKey: key } = JSON.parse(made.out)
      const { body } = await call(service, { account, key }, '/v1/customers', { Name: 'Acme', isCompany: true })
      return {
        account,
        key,
        customerID: body.customerID,
        worker: await workerOf(account),
        asked: new Set(),
        acknowledged: new Map(),
        refused: 0,
        read: 0,
      }
    }

    /** Lets a customer subscribe to a package, with a component whose use is counted. */
    async function subscribed(by: Trader) {
      const { customerID } = by
      const add = async (path: string, sent: object) => (await call(service, by, path, sent)).body
      const { packageGroupID } = await add('/v1/packagegroups', { GroupName: 'Plans' })
      const { packageID } = await add('/v1/packages', {
        ...{ packageGroupID, packageCode: 'P', Name: 'Plan', Descrip: 'A plan', isActive: true },
        PackageVersion: {
          ...{ VersionName: 'first', isActive: true, isDefault: true },
          packageVersionRates: [
            {
              CurrencyCode: 'USD',
              SetupFee: 0,
              TrialFee: 0,
              TrialPeriod: 0,
              TrialPeriodType: 'days',
              PackageRateTerms: [{ ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' }],
            },
          ],
        },
      })
      const ComponentBracketPrices = [{ Price: 1, QtyFrom: 1, QtyTill: null }]
      const { componentID } = await add('/v1/components', {
        ...{
          ComponentCode: 'C',
          Name: 'Calls',
          Descrip: 'Calls',
          Type: 'metered',
          Scheme: 'unit',
          UnitName: 'each',
          packageGroupID,
        },
        ...{ Term: 1, TermType: 'months', isActive: true },
        ComponentVersion: {
          VersionName: 'First',
          ComponentVersionCurrencies: [{ CurrencyCode: 'USD', ComponentBracketPrices }],
        },
      })
      const { subscriptionID } = await add('/v1/subscriptions', { customerID, packageID })
      const path = `/v1/subscriptions/${subscriptionID}/components/modify`
      const modified = await call(service, by, path, { componentUsage: [{ componentID }] }, { method: 'PUT' })
      expect([modified.status, modified.body]).toEqual([204, modified.body])
      return { packageID, componentID, subscriptionID }
    }

    /** Pays a part of one invoice again and again, each payment under its key until it is acknowledged. */
    async function trade(trader: Trader): Promise<void> {
      const { customerID } = trader
      const Charges = [{ UnitCostEx: 100_000 }]
      const { invoiceID } = await acknowledged(trader, '/v1/invoices', 'invoice', { customerID, Charges })
      const payment = { customerID, Amount: 5, CurrencyCode: 'USD', Date: TODAY, Method: 'eft', AutoApply: false }
      const Allocations = [{ invoiceID, amountApplied: 4 }]
      for (let n = 0; !isOver; n += 1)
        await acknowledged(trader, '/v1/payments', `P${n}`, { ...payment, Ref: `P${n}`, Allocations })
    }

    /** Reads a record again and again, beside what is paid. */
    async function look(trader: Trader): Promise<void> {
      while (!isOver) {
        const path = `/v1/customers/${trader.customerID}`
        const answer = await call(service, trader, path).catch((error: unknown) => error as Error)
        if (!(answer instanceof Error) && answer.status === 200) trader.read += 1
        else noteRefusal(trader, answer)
        await delay(50)
      }
    }

    async function acknowledged(trader: Trader, path: string, name: string, body: object): Promise<any> {
      trader.asked.add(name)
      for (;;) {
        const answer = await call(service, trader, path, body, keyed(name)).catch((error: unknown) => error as Error)
        if (!(answer instanceof Error) && answer.status === 201) {
          trader.acknowledged.set(name, answer.body.paymentID ?? answer.body.invoiceID)
          return answer.body
        }
        noteRefusal(trader, answer)
        if (isOver) return
        await delay(100)
      }
    }

    function noteRefusal(trader: Trader, answer: Awaited<ReturnType<typeof call>> | Error): void {
      const code = answer instanceof Error ? String(answer) : answer.body?.Errors?.[0]?.Code
      const isRefused =
        !(answer instanceof Error) && answer.status === 503 && Number(answer.headers.get('retry-after')) > 0
      if (isRefused) trader.refused += 1
      else if (code !== 'idempotency_key_in_use')
        wrong.add(
          answer instanceof Error ? String(answer.cause ?? answer) : `${answer.status} ${JSON.stringify(answer.body)}`,
        )
    }

    /** Waits until each of them has been acknowledged so often more, and returns the milliseconds. */
    async function untilAcknowledged(who: readonly Trader[], times: number): Promise<number> {
      const beganMs = performance.now()
      const goals = who.map(({ acknowledged: { size } }) => size + times)
      while (who.some((trader, place) => trader.acknowledged.size < (goals[place] ?? 0))) await delay(20)
      return performance.now() - beganMs
    }

    async function untilRead(who: readonly Trader[], times: number): Promise<void> {
      const goals = who.map(({ read }) => read + times)
      while (who.some(({ read }, place) => read < (goals[place] ?? 0))) await delay(20)
    }

    async function untilRefused(who: readonly Trader[]): Promise<void> {
      const before = who.map(({ refused }) => refused)
      while (who.some(({ refused }, place) => refused === before[place])) await delay(20)
    }

    /** Its accounts are refused, all others go on, and all are served as soon as it is back. */
    async function workerKilled(): Promise<void> {
      const [worker] = cluster.workers as [Node]
      const here = traders.filter((trader) => trader.worker === worker.port)
      const others = traders.filter((trader) => trader.worker !== worker.port)
      expect([here.length > 0, others.length > 0]).toEqual([true, true])
      const [first] = others as [Trader, ...Trader[]]
      const catalogue = await subscribed(first)
      await untilAcknowledged(traders, 5)
      const [dead] = here as [Trader, ...Trader[]]
      await sealUnderAnotherKey(dead, worker)
      await killNode(worker)
      await untilRefused(here)
      const before = here.map(({ acknowledged: { size } }) => size)
      await untilRead(others, 20)
      await untilAcknowledged(others, 5)
      await tradesOn(first, catalogue)
      await commandedMeanwhile(first)
      expect(here.map(({ acknowledged: { size } }) => size)).toEqual(before)
      expect((await call(service, {} as Trader, '/readyz')).status).toBe(200)
      const metrics = await (await fetch(`${service.address}/metrics`)).text()
      expect(metrics).toMatch(/^perennial_database_up 1$/m)
      for (const { port } of cluster.workers.slice(0, 2))
        expect(metrics).toContain(
          `perennial_database_node_up{node="127.0.0.1:${port}"} ${port === worker.port ? 0 : 1}\n`,
        )
      expect(await doctorOf(worker)).toMatchObject({ State: 'fail', Says: expect.stringContaining('is not reached') })
      const started = await startedMeanwhile(worker, dead, first)
      await startNode(worker)
      const backMs = await untilAcknowledged(traders, 1)
      expect(backMs).toBeLessThan(BACK_MS)
      expect([...wrong]).toEqual([])
      await askedOnceItIsBack(started, worker)
    }

    /** Gives an account a webhook whose secret is sealed under a key that nobody here has. */
    async function sealUnderAnotherKey({ account }: Trader, worker: Node): Promise<void> {
      await inDatabase(`
        insert into perennial.webhooks (account_id, url, types, is_active, sealed_secret, created_at)
        values (${account}, 'https://example.com/', '{}', false, decode('01${OTHER_KEY}${'ff'.repeat(80)}', 'hex'), now())`)
      // Its commit does not wait for the log, which ends with the server.
      await onNode(worker, DATABASE, 'checkpoint')
    }

    /** A service that starts while a worker is away refuses its accounts, serves all others, and names what it could not ask. */
    async function startedMeanwhile({ port }: Node, dead: Trader, other: Trader): Promise<Serving> {
      const started = await serve(env, ['--no-worker'])
      const statusFor = async (trader: Trader) =>
        (await call(started, trader, `/v1/customers/${trader.customerID}`)).status
      expect([await statusFor(dead), await statusFor(other)]).toEqual([503, 200])
      const { err } = started.said
      expect(goneLines(err)).toBe(1)
      expect(err).toContain(`the worker 127.0.0.1:${port} of Citus is not reached by the coordinator`)
      expect(err).toContain(
        `a worker of Citus is away (127.0.0.1:${port}); asked once all are back: which keys seal what accounts keep, which gateways are held, whether there is an account`,
      )
      // One of the service, and one of its worker.
      await expect.poll(() => goneLines(service.said.err)).toBe(2)
      expect(service.said.err).not.toContain('the database cannot be reached')
      return started
    }

    /** A key that it lacks ends it then, as it would have ended its start. */
    async function askedOnceItIsBack(started: Serving, { port }: Node): Promise<void> {
      const { code, err } = await started.ended
      expect([code, err]).toEqual([1, expect.stringContaining(`sealed under the key ${OTHER_KEY}, which is not in`)])
      expect(err).toContain(`the worker 127.0.0.1:${port} of Citus is reached again`)
      await inDatabase(`delete from perennial.webhooks where url = 'https://example.com/'`)
    }

    /** A worker that lets a role not log in is no worker that is away: nothing starts. */
    async function startedWithoutLogin(): Promise<void> {
      const [worker] = cluster.workers as [Node]
      const without = 'set citus.enable_ddl_propagation = off; alter role perennial_owner nologin'
      await onNode(worker, DATABASE, without)
      expect(await runProgram(['serve'], env)).toMatchObject({
        code: 1,
        out: '',
        err: `The worker 127.0.0.1:${worker.port} of the database refuses: role "perennial_owner" is not permitted to log in. Its administrator runs on the coordinator, which passes it on,  alter role perennial_owner login;\n`,
      })
      await onNode(worker, DATABASE, without.replace('owner', 'app'))
      const mend = (...roles: string[]) =>
        `run on the coordinator, which passes it on:  ${roles.map((role) => `alter role ${role} login;`).join(' ')}`
      expect(await doctorOf(worker)).toMatchObject({
        State: 'fail',
        Says: 'refuses: role "perennial_app" is not permitted to log in, role "perennial_owner" is not permitted to log in',
        Mend: mend('perennial_app', 'perennial_owner'),
      })
      for (const role of ['perennial_app', 'perennial_owner']) await inDatabase(`alter role ${role} login`)
      expect(await doctorOf(worker)).toMatchObject({ State: 'ok' })
      const rules = join(worker.folder, 'pg_hba.conf')
      writeFileSync(rules, `host all perennial_app 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`)
      await onNode(worker, DATABASE, 'select pg_reload_conf()')
      expect(await doctorOf(worker)).toMatchObject({
        State: 'fail',
        Says: expect.stringMatching(/^does not let perennial_app in from the coordinator \(.*no password supplied/),
      })
      const { out } = await runProgram(['doctor', '--json'], { ...env, DATABASE_URL: urlOf(worker, DATABASE) })
      expect(JSON.parse(out)).toContainEqual(
        expect.objectContaining({ About: 'Citus', Says: expect.stringContaining('name the coordinator') }),
      )
    }

    /** All that an account does goes on while another one's worker is away. */
    async function tradesOn(
      trader: Trader,
      { packageID, subscriptionID, componentID }: Awaited<ReturnType<typeof subscribed>>,
    ): Promise<void> {
      const { customerID } = trader
      const send = async (path: string, body: object, status = 201): Promise<any> => {
        const answer = await call(service, trader, path, body)
        expect([path, answer.status, answer.body]).toEqual([path, status, answer.body])
        return answer.body
      }
      const { invoiceID } = await send('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
      await send(`/v1/invoices/${invoiceID}/credit`, { Amount: 1, Reason: 'Late' })
      const CreditNumber = `C${invoiceID}`
      await send('/v1/credits', {
        customerID,
        Amount: 3,
        CurrencyCode: 'USD',
        Date: TODAY,
        CreditNumber,
        AutoApply: true,
      })
      const use = { subscriptionID, componentID, NumUnits: 2 }
      await send('/v1/usage', {
        Usage: [
          { ...use, UsageKey: 'first' },
          { ...use, UsageKey: 'second' },
        ],
      })
      await send('/v1/customers', { Name: 'Meanwhile', isCompany: true })
      await send('/v1/subscriptions', { customerID, packageID })
      for (const path of ['invoices', 'payments', 'credits', 'events', `customers/${customerID}/statement`])
        expect((await call(service, trader, `/v1/${path}`)).status).toBe(200)
    }

    /** Commands that name an account ask for no other one. */
    async function commandedMeanwhile(trader: Trader): Promise<void> {
      const of = ['--account', String(trader.account)]
      const made = await call(service, trader, '/v1/gateways', { GatewayType: 'manual', FriendlyName: 'Meanwhile' })
      const gateway = String(made.body.gatewayID)
      const added = JSON.parse(await commanded('key', 'create', ...of))
      await Promise.all([
        commanded('invoices', ...of),
        commanded('key', 'list', ...of),
        commanded('mail', 'status', ...of),
        commanded('mail', 'release', ...of),
        commanded('resultfiles', 'to-send-again', ...of),
        commanded('verify', ...of),
        commanded('billing', 'run', ...of),
        commanded('gateway', 'test', gateway, ...of),
      ])
      await commanded('key', 'revoke', String(added.ApiKeyID), ...of)
      await commanded('gateway', 'hold', gateway, ...of)
      await commanded('gateway', 'release', gateway, ...of)
      expect((await call(service, trader, `/v1/gateways/${gateway}`, undefined, { method: 'DELETE' })).status).toBe(204)
    }

    async function coordinatorKilled(): Promise<void> {
      await untilAcknowledged(traders, 5)
      await killNode(cluster.coordinator)
      await untilRefused(traders)
      await startNode(cluster.coordinator)
      const backMs = await untilAcknowledged(traders, 1)
      expect(backMs).toBeLessThan(BACK_MS)
      expect([...wrong]).toEqual([])
    }

    /** Ends a server for good, once it has a synchronous standby, which then takes its place. */
    async function replaced(node: Node, port?: number): Promise<Node> {
      const standby = await addStandby(node, port)
      onTestFinished(() => killNode(standby))
      await untilAcknowledged(traders, 5)
      await killNode(node)
      await onNode(standby, 'postgres', 'select pg_promote()')
      return standby
    }

    async function coordinatorReplaced(): Promise<void> {
      cluster.coordinator = await replaced(cluster.coordinator, standbyPort)
      await inDatabase(`select citus_set_coordinator_host('127.0.0.1', ${standbyPort})`)
      expect(await untilAcknowledged(traders, 1)).toBeLessThan(BACK_MS)
      expect([...wrong]).toEqual([])
    }

    async function workerReplaced(): Promise<void> {
      const [worker, ...others] = cluster.workers as [Node, ...Node[]]
      const standby = await replaced(worker)
      await inDatabase(
        `select citus_update_node(nodeid, '127.0.0.1', ${standby.port}) from pg_dist_node where nodeport = ${worker.port}`,
      )
      cluster.workers = [standby, ...others]
      expect(await untilAcknowledged(traders, 1)).toBeLessThan(BACK_MS)
      expect(await doctorOf(standby)).toMatchObject({ State: 'ok' })
      expect([...wrong]).toEqual([])
    }

    async function workerAdded(): Promise<void> {
      const added = cluster.workers.at(-1) as Node
      await onNode(added, DATABASE, 'create extension citus')
      await inDatabase(`select citus_add_node('127.0.0.1', ${added.port})`)
      await inDatabase("select citus_rebalance_start(shard_transfer_mode => 'block_writes')")
      while ((await inDatabase('select state from citus_rebalance_status()'))[0]?.state !== 'finished') {
        await delay(500)
      }
      await movedWhileWritten(traders[0] as Trader)
      expect(await doctorOf(added)).toMatchObject({ State: 'ok' })
      await onNode(added, DATABASE, 'set citus.enable_ddl_propagation = off; drop function perennial.anonymised_record')
      expect(await doctorOf(added)).toMatchObject({
        State: 'fail',
        Says: expect.stringContaining('lacks function anonymised_record('),
      })
      await inDatabase('select start_metadata_sync_to_all_nodes()')
      expect(await doctorOf(added)).toMatchObject({ State: 'ok' })
      await untilAcknowledged(traders, 5)
      expect([...wrong]).toEqual([])
    }

    /** By default shards are moved without a pause for those who write; that takes several times as long. */
    async function movedWhileWritten({ account }: Trader): Promise<void> {
      const from = await workerOf(account)
      const to = cluster.workers.find(({ port }) => port !== from) as Node
      await inDatabase(`
        select citus_move_shard_placement(get_shard_id_for_distribution_column('perennial.accounts', ${account}),
                 '127.0.0.1', ${from}, '127.0.0.1', ${to.port}, shard_transfer_mode => 'auto')`)
      expect(await workerOf(account)).toBe(to.port)
    }

    /** All that was acknowledged is there once, with nothing that nobody asked for, and all books verify. */
    async function checkAll(): Promise<void> {
      for (const trader of traders) {
        const found = await paymentsOf(trader)
        const refs = found.map(({ Ref }) => Ref)
        expect(new Set(refs).size).toBe(refs.length)
        expect(refs.filter((ref) => !trader.asked.has(ref))).toEqual([])
        const ids = new Map(found.map(({ Ref, paymentID }) => [Ref, paymentID]))
        const lost = [...trader.acknowledged].filter(([name, id]) => name !== 'invoice' && ids.get(name) !== id)
        expect(lost).toEqual([])
      }
      expect(await runProgram(['verify'], env)).toMatchObject({ code: 0, err: '' })
    }

    /** Runs a command that is done, and returns what it prints. */
    async function commanded(...words: string[]): Promise<string> {
      const { code, out, err } = await runProgram([...words, '--json'], env)
      expect([words, code, err]).toEqual([words, 0, err])
      return out
    }

    /** Whoever operates the cluster asks and orders as on one server. */
    async function operated({ account, key: secret }: Trader): Promise<void> {
      const run = async (...words: string[]) => {
        const { code, out, err } = await runProgram([...words, '--json'], env)
        // Some say that no standby has what they change.
        expect([words, code, err]).toEqual([words, 0, expect.stringMatching(/^(No standby .*\n)?$/)])
        return JSON.parse(out)
      }
      const of = ['--account', String(account)]
      const gateway = { GatewayType: 'manual', FriendlyName: 'By hand' }
      expect((await call(service, { account, key: secret }, '/v1/gateways', gateway)).status).toBe(201)
      const [added] = await Promise.all([
        run('key', 'create', ...of),
        run('account', 'list'),
        run('processes'),
        run('running'),
        run('log', 'debug', '--for', '1'),
        run('encryption', 'rotate'),
        run('seal', 'renew'),
        run('mail', 'status'),
        run('billing', 'run', ...of),
      ])
      await run('key', 'set', String(added.ApiKeyID), '--strict', ...of)
      await run('key', 'revoke', String(added.ApiKeyID), ...of)
      const keys: any[] = await run('key', 'list', ...of)
      expect(keys.find(({ ApiKeyID }) => ApiKeyID === added.ApiKeyID).Revoked).not.toBeNull()
      const numbers = ['--numbers', `${account}=5000`, '--credit-numbers', `${account}=6000`]
      expect(await run('after-failover', '--lossy', '--skip', '1000', ...numbers)).toMatchObject({ Lossy: true })
      const released = await run('gateway', 'release', '--anyway')
      expect(released.map(({ WasHeldFor }: any) => WasHeldFor)).toEqual(['failover'])
      const { customerID } = traders[0] as Trader
      const sent = { customerID, Charges: [{ UnitCostEx: 10 }] }
      const { status, body } = await call(service, { account, key: secret }, '/v1/invoices', sent)
      expect([status, body.invoiceNum]).toEqual([201, 5000])
    }

    async function doctorOf({ port }: Node): Promise<unknown> {
      const { out } = await runProgram(['doctor', '--json'], env)
      return JSON.parse(out).find(({ About }: { About: string }) => About === `worker 127.0.0.1:${port}`) ?? out
    }

    async function paymentsOf(trader: Trader): Promise<{ Ref: string; paymentID: number }[]> {
      const found = []
      for (let page = 1; ; page += 1) {
        const { body } = await call(service, trader, `/v1/payments?page=${page}&page_size=200`)
        found.push(...body)
        if (body.length < 200) return found
      }
    }
  },
)
