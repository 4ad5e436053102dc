import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import pg from 'pg'

/**
 * Notes what processes have a distributed database prepare, each text once a file, as lines of JSON: what is sent on connections that set what Citus needs. Programs that
 * tests start load it by NODE_OPTIONS, and note to the folder NOTE_STATEMENTS.
 */

/** @type {{ file: string | undefined, known: Set<string> } | undefined} */
let noting

/**
 * Notes what this process sends from now on to a file; to none if it is undefined.
 * @param {string | undefined} file
 */
export function noteStatements(file) {
  noting ??= listen()
  noting.file = file
  noting.known.clear()
  if (file === undefined) return
  mkdirSync(dirname(file), { recursive: true })
  appendFileSync(file, '')
}

/** Listens to the driver, which is one for all modules that a process loads. */
function listen() {
  const { prototype } = pg.Connection
  if (prototype.noting) return prototype.noting
  const { parse, startup } = prototype
  const heard = (prototype.noting = { file: undefined, known: new Set() })
  prototype.startup = function (settings) {
    this.isOfCitus = settings.options?.includes('citus.') ?? false
    return startup.call(this, settings)
  }
  prototype.parse = function (query) {
    if (this.isOfCitus && heard.file !== undefined && !heard.known.has(query.text)) {
      heard.known.add(query.text)
      appendFileSync(heard.file, `${JSON.stringify(query.text)}\n`)
    }
    return parse.call(this, query)
  }
  return heard
}

const folder = process.env['NOTE_STATEMENTS']
if (folder !== undefined && isMainThread) noteStatements(join(folder, `program-${process.pid}-${Date.now()}`))
