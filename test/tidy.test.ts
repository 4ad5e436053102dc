import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { EVENT_TYPES } from '../src/features/events/types.ts'
import { GATEWAY_TYPES, gatewayFactsOf } from '../src/features/gateways/facts.ts'
import { ibanProblem } from '../src/kernel/bank-numbers.ts'

/** The house rules that a machine can see. Each test lists what breaks its rule, so an empty list is a kept rule. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const NOT_OURS = new Set(['node_modules', 'dist', 'data', '.git'])

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    if (NOT_OURS.has(entry.name) || entry.name.startsWith('dist.')) return []
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesIn(path) : [path]
  })
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const isTest = (path: string): boolean => /\.(test|testing)\.ts$/.test(path)

const ALL = filesIn('.').map((path) => relative('.', path))
const SOURCES = ALL.filter((path) => path.startsWith('src/') && path.endsWith('.ts') && !isTest(path))
const TEXTS = new Map(SOURCES.map((path) => [path, read(path)]))
const textOf = (path: string): string => TEXTS.get(path) ?? ''

const PARSED = new Map<string, ts.SourceFile>()

/** Parses a source once for all tests: that takes most of their time. */
function parsed(path: string): ts.SourceFile {
  const file = PARSED.get(path) ?? ts.createSourceFile(path, textOf(path), ts.ScriptTarget.ES2023, true)
  PARSED.set(path, file)
  return file
}

const CODES = new Map<string, string>()

/** The code without what is said in it: strings, templates and comments are blanked, places stay. */
function codeOf(path: string): string {
  const code = CODES.get(path) ?? codeWithin(textOf(path))
  CODES.set(path, code)
  return code
}

const codeWithin = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, (said) =>
    said.replace(/[^\n]/g, ' '),
  )

/** Every place of a pattern, as "file:line what". */
function placesOf(pattern: RegExp, paths: readonly string[], text: (path: string) => string = codeOf): string[] {
  return paths.flatMap((path) =>
    text(path)
      .split('\n')
      .flatMap((line, index) => {
        const found = pattern.exec(line)
        return found ? [`${path}:${index + 1} ${found[0].trim()}`] : []
      }),
  )
}

const IMPORT = /^(?:import|export)\b[^'"`]*?\bfrom '([^']+)'|\bimport\('([^']+)'\)/gm
const importsOf = (path: string): string[] =>
  [...textOf(path).matchAll(IMPORT)].map(([, stated, asked]) => stated ?? asked ?? '')

/** "src/features/customers/wire.ts" belongs to "features", as does everything below it; single files are a layer each. */
const layerOf = (path: string): string => path.split('/')[1]?.replace(/\.ts$/, '') ?? ''
const featureOf = (path: string): string => path.split('/')[2] ?? ''

const MAY_IMPORT: Record<string, readonly string[]> = {
  kernel: ['kernel'],
  engine: ['engine', 'kernel'],
  platform: ['platform', 'kernel'],
  rails: ['rails', 'kernel'],
  sandbox: ['sandbox', 'platform', 'kernel'],
  features: ['features', 'sandbox', 'rails', 'engine', 'platform', 'kernel'],
  worker: ['platform'],
  checks: ['features', 'platform', 'kernel'],
  duties: ['checks', 'features', 'platform', 'kernel'],
  app: ['duties', 'features', 'platform', 'kernel'],
  // The demo plays the bank, which writes files.
  demo: ['demo', 'rails', 'kernel'],
  reference: ['reference', 'platform'],
  commands: ['commands', 'app', 'worker', 'checks', 'duties', 'demo', 'features', 'platform', 'kernel'],
  main: ['commands', 'platform', 'kernel'],
}

/** The features from low to high: the bands of ARCHITECTURE.md, one below the other. */
const FEATURE_ORDER: string[] = (/^ground .+?(?=\n```)/ms.exec(read('ARCHITECTURE.md'))?.[0] ?? '')
  .split('\n')
  .flatMap((band) => band.replace(/^\w+ +/, '').split(' · '))

/** Making an account makes its first key, its currency and its sandbox with it; ARCHITECTURE.md says so. */
const UPWARD = new Set(['accounts → api-keys', 'accounts → currencies', 'accounts → gateways'])

/** Returns the paragraph of a room's README that names its doors. */
const doorsOf = (room: string): string | undefined =>
  /^Doors: [\s\S]*?\.(?=\n\n)/m.exec(read(`src/features/${room}/README.md`))?.[0]

describe('arrows', () => {
  test('a layer imports only what lies below it', () => {
    const broken = SOURCES.flatMap((path) =>
      importsOf(path)
        .filter((name) => name.startsWith('.'))
        .map((name) => join(dirname(path), name))
        .filter((target) => !MAY_IMPORT[layerOf(path)]?.includes(layerOf(target)))
        .map((target) => `${path} → ${target}`),
    )
    expect(broken).toEqual([])
  })

  test('no file leads back to itself by its imports, those of types included', () => {
    const next = new Map(
      SOURCES.map((path) => [
        path,
        importsOf(path)
          .filter((name) => name.startsWith('.'))
          .map((name) => join(dirname(path), name)),
      ]),
    )
    const through = new Set<string>()
    const circles: string[] = []
    const follow = (path: string, way: readonly string[]): void => {
      const back = way.indexOf(path)
      if (back !== -1) circles.push([...way.slice(back), path].join(' → '))
      if (back !== -1 || through.has(path)) return
      for (const target of next.get(path) ?? []) follow(target, [...way, path])
      through.add(path)
    }
    for (const path of next.keys()) follow(path, [])
    expect(circles).toEqual([])
  })

  test('kernel, engine and rails need nothing but each other: no package, nothing of Node', () => {
    const pure = SOURCES.filter((path) => ['kernel', 'engine', 'rails'].includes(layerOf(path)))
    expect(pure.flatMap((path) => importsOf(path).filter((name) => !name.startsWith('.')))).toEqual([])
  })

  test('a feature imports only features to its left, and ARCHITECTURE.md knows them all', () => {
    expect([...FEATURE_ORDER].sort()).toEqual(readdirSync(join(ROOT, 'src/features')).sort())
    const features = SOURCES.filter((path) => layerOf(path) === 'features')
    const broken = features.flatMap((path) =>
      importsOf(path)
        .filter((name) => name.startsWith('../') && !name.startsWith('../../'))
        .map((name) => [featureOf(path), name.split('/')[1] ?? ''] as const)
        .filter(([from, to]) => FEATURE_ORDER.indexOf(to) >= FEATURE_ORDER.indexOf(from))
        .map(([from, to]) => `${from} → ${to}`)
        .filter((arrow) => !UPWARD.has(arrow)),
    )
    expect([...new Set(broken)]).toEqual([])
  })

  // More than 8 doors have their reason in the README of the room.
  const DOORS_MAX: Record<string, number> = {
    'capture-sessions': 9,
    gateways: 11,
    invoices: 15,
    money: 19,
    'payment-methods': 11,
  }

  test('a room is entered by its doors: the files that its README names, each of them used by another room', () => {
    // Tests may look inside; the wiring (app, duties, commands) is no room and takes what it wires.
    const used = new Map(FEATURE_ORDER.map((room) => [room, new Set<string>()]))
    for (const path of SOURCES.filter((path) => layerOf(path) === 'features'))
      for (const name of importsOf(path)) {
        const [, room = '', file = ''] = /^\.\.\/([a-z-]+)\/(.+)$/.exec(name) ?? []
        used.get(room)?.add(file)
      }
    const broken = [...used].flatMap(([room, files]) => {
      const named = new Set([...(doorsOf(room) ?? '').matchAll(/`([a-z0-9.-]+\.ts)`/g)].map(([, file = '']) => file))
      const inside = [...files].filter((file) => !named.has(file)).map((file) => `${room}/${file} is no door`)
      const shut = [...named].filter((file) => !files.has(file)).map((file) => `${room}/${file} is used by no room`)
      const many = named.size > (DOORS_MAX[room] ?? 8) ? [`${room} has ${named.size} doors`] : []
      const hasReason = /\bMore than (?:8|12), because\b/.test((doorsOf(room) ?? '').replaceAll(/\s+/g, ' '))
      if (hasReason !== room in DOORS_MAX) many.push(`${room} needs a reason for more doors, or needs none`)
      return [...inside, ...shut, ...many]
    })
    expect(broken).toEqual([])
    expect(Object.keys(DOORS_MAX).filter((room) => !used.has(room))).toEqual([])
  })

  test('the doors of money only speak HTTP, and go to money, never past it', () => {
    const doors = SOURCES.filter((path) => ['payments', 'credit-notes', 'adjustments'].includes(featureOf(path)))
    expect(doors.length).toBeGreaterThan(5)
    const others = doors.filter((path) => !/\/(wire|routes|record|resolve)\.ts$/.test(path))
    const past = doors.flatMap((path) =>
      importsOf(path)
        .filter((name) => /^\.\.\/\w/.test(name) && !/^\.\.\/(money|customers|currencies)\//.test(name))
        .map((name) => `${path} → ${name}`),
    )
    expect([...others, ...past]).toEqual([])
    const money = SOURCES.filter((path) => featureOf(path) === 'money').flatMap(importsOf)
    expect(money.filter((name) => /\/(payments|credit-notes|adjustments)\//.test(name))).toEqual([])
  })

  test('features are flat, and nothing is only passed on by an index file', () => {
    const deep = SOURCES.filter((path) => layerOf(path) === 'features' && path.split('/').length > 4)
    expect([...deep, ...SOURCES.filter((path) => path.endsWith('/index.ts'))]).toEqual([])
  })

  test('only the program reads the environment and writes to the terminal', () => {
    const others = SOURCES.filter((path) => !['commands', 'main'].includes(layerOf(path)))
    const reading = placesOf(/process\.(env|stdout|stderr|exit\b|argv)|console\./, others)
    expect(reading).toEqual([])
  })
})

describe('purity', () => {
  test('engine and rails neither wait nor look at a clock, at chance, or at the machine', () => {
    const pure = SOURCES.filter((path) => ['engine', 'rails'].includes(layerOf(path)))
    expect(
      placesOf(/\bawait\b|\basync\b|Date\.now|new Date|Math\.random|\bIntl\b|\bprocess\b|\bfetch\(/, pure),
    ).toEqual([])
  })

  test('rules decide without I/O', () => {
    const rules = SOURCES.filter((path) => path.endsWith('/rules.ts'))
    expect(placesOf(/\bawait\b|\basync\b|Date\.now|new Date\(\)/, rules)).toEqual([])
  })

  test('the wall clock is an argument; spans are measured by a clock that never steps back', () => {
    const others = SOURCES.filter((path) => layerOf(path) !== 'commands' && !path.startsWith('src/platform/checkup/'))
    expect(placesOf(/Date\.now\(|new Date\(\)/, others)).toEqual([])
  })

  test('the kernel never asks what time it is', () => {
    const kernel = SOURCES.filter((path) => layerOf(path) === 'kernel')
    expect(placesOf(/\bawait\b|Date\.now|new Date\(\)|Math\.random/, kernel)).toEqual([])
  })

  test('money meets no floating point', () => {
    const exact = SOURCES.filter((path) => ['kernel', 'engine', 'rails'].includes(layerOf(path)))
    expect(placesOf(/parseFloat|toFixed|Math\.round/, exact)).toEqual([])
    const minors = placesOf(/\bNumber\(\w*[mM]inor\w*\)/, SOURCES)
    expect(minors).toEqual([])
  })
})

describe('SQL', () => {
  const WRITES = /\b(?:insert\s+into|update|delete\s+from)\s+(?:perennial\.)?([a-z_]+)/g

  test('is put together by sql.ts alone, which keeps each piece for good', () => {
    expect(SOURCES.filter((path) => /\bfragment: true[,;\s]/.test(textOf(path)))).toEqual([
      'src/platform/database/sql.ts',
    ])
  })

  test('of features stands in their queries alone', () => {
    const others = SOURCES.filter((path) => layerOf(path) === 'features' && !/(^|[/-])queries\.ts$/.test(path))
    expect(placesOf(/\b(sql|fragment)`/, others, textOf)).toEqual([])
    const commands = SOURCES.filter((path) => ['commands', 'demo', 'worker', 'app', 'main'].includes(layerOf(path)))
    expect(placesOf(/\b(sql|fragment)`/, commands, textOf)).toEqual([])
  })

  test('writes a table in one feature only, which so owns it', () => {
    const migrations = ALL.filter((path) => /^db\/migrations\/.*\.sql$/.test(path)).map(read)
    const tables = migrations.flatMap((text) =>
      [...text.matchAll(/^create table (\w+)/gm)].map(([, name = '']) => name),
    )
    expect(tables).toContain('customers')
    const owners = new Map(tables.map((table) => [table, new Set<string>()]))
    for (const path of SOURCES) {
      const owner = layerOf(path) === 'features' ? featureOf(path) : layerOf(path)
      for (const [, table = ''] of textOf(path).matchAll(WRITES)) owners.get(table)?.add(owner)
    }
    const broken = [...owners].filter(([, writers]) => writers.size > 1)
    expect(broken.map(([table, writers]) => `${table} is written by ${[...writers].join(' and ')}`)).toEqual([])
  })

  test('names in one room only how many records are kept: rows of one each, packs, templates', () => {
    // Everybody else reads the view of all records: thing is the view, thing_rows and thing_packs are the tables.
    const tables = [...read('db/schema.sql').matchAll(/^create table (?:perennial\.)?(\w+)/gm)].map(
      ([, name = '']) => name,
    )
    const physical = tables.filter((name) => /_(?:rows|packs|templates)$|_template_/.test(name))
    expect(physical).toContain('charge_rows')
    const rooms = physical.map((name) => {
      // What Citus is sent in the place of their defaults is no record.
      const naming = SOURCES.filter(
        (path) => path !== 'src/platform/database/parts-at-home.ts' && new RegExp(`\\b${name}\\b`).test(textOf(path)),
      )
      const of = naming.map((path) => (layerOf(path) === 'features' ? featureOf(path) : layerOf(path)))
      return { name, of: new Set(of) }
    })
    const broken = rooms.flatMap(({ name, of }) => (of.size > 1 ? [`${name}: ${[...of].join(' and ')}`] : []))
    expect(broken).toEqual([])
    expect(rooms.filter(({ of }) => of.has('verification')).map(({ name }) => name)).toEqual([])
  })

  test('of checks is theirs: none asks a reader of its room, nor what readers have their bounds of', () => {
    const checks = SOURCES.filter((path) =>
      /^src\/features\/(?:[^/]+\/checks|(?:ledger|invoices)\/group-by-facts|verification\/(?!nightly))[^/]*\.ts$/.test(
        path,
      ),
    )
    expect(checks.length).toBeGreaterThan(40)
    /** By which the content of a template is hashed: writer and check share the formula, as they share rules of the engine. */
    const FORMULAS = ['hashedShapes', 'hashedTemplates']
    /** Tables alone, without a condition that could be wrong. */
    const TABLES = ['writtenOutCharges', 'writtenOutEvents']
    const isReading = (path: string, name: string): boolean =>
      (name.endsWith('queries.ts') &&
        !(featureOf(path) === 'verification' && name.startsWith('./')) &&
        !/\/(?:checks|group-by-facts|pages)[^/]*-?queries\.ts$/.test(name)) ||
      /\/platform\/packed\/declare\.ts$|\/packed\.ts$/.test(name)
    const used = checks.flatMap((path) =>
      [...textOf(path).matchAll(/^import \{([^}]*)\} from '([^']+)'/gm)]
        .filter(([, , name = '']) => isReading(path, name))
        .flatMap(([, names = '']) => names.split(',').map((one) => one.trim()))
        .filter((name) => name !== '' && !name.startsWith('type ') && ![...FORMULAS, ...TABLES].includes(name))
        .map((name) => `${path} ${name}`),
    )
    expect(used).toEqual([])
  })
})

describe('names', () => {
  test('records of events are written by a declared shape, never by hand', () => {
    expect(placesOf(/\brecord: (?:JSON\b|`)/, SOURCES, textOf)).toEqual([])
  })

  test("the interface's spelling stays out of rules, statements and the engine's facts", () => {
    const document = JSON.parse(read('openapi.json')) as {
      components: { schemas: Record<string, { properties?: object }> }
    }
    const schemas = Object.values(document.components.schemas)
    const wireNames = new Set(
      schemas
        .flatMap(({ properties }) => Object.keys(properties ?? {}))
        .filter((name) => /^[A-Z]|ID$|^comp_/.test(name)),
    )
    // Words of statuses are values, also where a field bears the same name: conditions by status are keyed by them.
    for (const [, words = ''] of read('openapi.json').matchAll(/"enum":\s*\[([^\]]*)\]/g))
      for (const [, word = ''] of words.matchAll(/"([^"]*)"/g)) wireNames.delete(word)
    expect(wireNames.size).toBeGreaterThan(50)
    const inner = SOURCES.filter(
      (path) => ['kernel', 'engine'].includes(layerOf(path)) || /(^|[/-])queries\.ts$/.test(path),
    )
    const places = inner.flatMap((path) =>
      [...codeOf(path).matchAll(/\.([A-Za-z_]\w*)\b(?!\()|\b([A-Za-z_]\w*)\??:/g)]
        .map(([, member, key]) => member ?? key ?? '')
        .filter((name) => wireNames.has(name))
        .map((name) => `${path} ${name}`),
    )
    expect(places).toEqual([])
  })

  test('say what a thing is: no files, types or exports that could hold anything', () => {
    // A plan that invoices share is a thing; a file or folder "shared" is none.
    const BANNED = /(^|[-/_])(utils?|helpers?|common|misc|manager|service)([-._/]|$)|(^|\/)shared([._/]|$)/i
    const ours = ALL.filter((path) => /^(src|test|scripts|bench|examples)\//.test(path))
    // "service" alone is the running program to its operator; a class of that name is what must not be.
    expect(ours.filter((path) => BANNED.test(path) && !/(^|[/-])service(-pages|\.testing)?\.ts$/.test(path))).toEqual(
      [],
    )
    expect(
      placesOf(/\bexport (?:class|const|function|interface|type) \w*(Utils?|Helper|Manager|Misc|Common)\b/, SOURCES),
    ).toEqual([])
    expect(placesOf(/\bclass \w*(Service|Manager|Helper)\b/, SOURCES)).toEqual([])
  })

  test('belong to one room: no two export a function, a value or a type of the same name', () => {
    // The demo is a client of the service, and speaks of customers and cancelling as its users do.
    const rooms = new Map<string, Set<string>>()
    for (const path of SOURCES.filter((path) => layerOf(path) !== 'demo'))
      for (const [, name = ''] of textOf(path).matchAll(
        /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm,
      ))
        rooms.set(name, (rooms.get(name) ?? new Set()).add(dirname(path)))
    const twins = [...rooms].filter(([, folders]) => folders.size > 1)
    expect(twins.map(([name, folders]) => `${name}: ${[...folders].join(' and ')}`)).toEqual([])
  })

  test('nothing is left to be done later by a word in the code', () => {
    const WORDS = /\b(?:TO(?:DO)|FIX(?:ME)|HA(?:CK))\b/
    const written = ALL.filter((path) => /^(src|test|scripts|bench|examples|docs|db|bin)\/|^[A-Z]+\.md$/.test(path))
    expect(
      placesOf(
        WORDS,
        written.filter((path) => /\.(ts|js|sql|md|sh)$/.test(path)),
        read,
      ),
    ).toEqual([])
  })
})

describe('size', () => {
  const LINES_MAX = 500
  const FUNCTION_LINES_MAX = 70
  const isTable = (path: string): boolean => /-table\.ts$|\/currencies\.ts$/.test(path)

  test(`no file is over ${LINES_MAX} lines, tables of data excepted`, () => {
    const long = SOURCES.filter((path) => !isTable(path) && textOf(path).split('\n').length > LINES_MAX)
    expect(long).toEqual([])
  })

  test(`no function is over ${FUNCTION_LINES_MAX} lines`, () => {
    expect(SOURCES.filter((path) => !isTable(path)).flatMap(longFunctions)).toEqual([])
    // Every source is parsed; on a machine with other work that takes longer than a test has.
  })

  function longFunctions(path: string): string[] {
    const file = parsed(path)
    const found: string[] = []
    const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line
    const isFunction = (node: ts.Node): node is ts.FunctionLikeDeclaration =>
      ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isArrowFunction(node)
    const linesOf = (node: ts.Node) => lineAt(node.end) - lineAt(node.getStart(file)) + 1
    // A function that only holds others, as one that makes a record of functions does, is as long as what is its own.
    const linesOfInner = (node: ts.Node): number => {
      let lines = 0
      ts.forEachChild(node, (child) => {
        lines += isFunction(child) && linesOf(child) > 1 ? linesOf(child) : linesOfInner(child)
      })
      return lines
    }
    const visit = (node: ts.Node): void => {
      if (isFunction(node) && linesOf(node) > FUNCTION_LINES_MAX) {
        const lines = linesOf(node) - linesOfInner(node)
        if (lines > FUNCTION_LINES_MAX) found.push(`${path}:${lineAt(node.getStart(file)) + 1} has ${lines} lines`)
      }
      ts.forEachChild(node, visit)
    }
    visit(file)
    return found
  }
})

describe('plain English', () => {
  const OURS = ALL.filter((path) => /^(src|test|scripts|bench|examples)\/.*\.ts$/.test(path))

  test('a doc comment starts with a verb or a noun of the signature, not with "What", "Where" or "One"', () => {
    const found = OURS.flatMap((path) =>
      [...read(path).matchAll(/^\s*\/\*\*[\s*]*((?:what|where|one)\b.{0,60})/gim)].map(
        ([, words = '']) => `${path}: ${words}`,
      ),
    )
    expect(found).toEqual([])
  })

  test('a doc comment of a function starts with a verb in the third person, or with its rule', () => {
    const broken = SOURCES.flatMap((path) =>
      functionComments(parsed(path))
        .filter((words) => !/^(?:[A-Z][a-z-]+s\b|Rules?\b|`perennial )/.test(words))
        .map((words) => `${path}: ${words}`),
    )
    expect(broken).toEqual([])
  })

  /** The beginnings of the doc comments that stand on functions; one with an empty line behind it heads a section. */
  function functionComments(file: ts.SourceFile): string[] {
    const isFunction = (node: ts.Node): boolean =>
      ts.isFunctionDeclaration(node) ||
      ts.isMethodDeclaration(node) ||
      (ts.isVariableStatement(node) &&
        node.declarationList.declarations.some(({ initializer }) => initializer && ts.isArrowFunction(initializer)))
    const found: string[] = []
    const visit = (node: ts.Node): void => {
      const comment = isFunction(node) ? ts.getJSDocCommentsAndTags(node).at(-1) : undefined
      const isOwn = comment && !/\n\s*\n/.test(file.text.slice(comment.end, node.getStart(file)))
      if (comment && isOwn)
        found.push(
          comment
            .getText(file)
            .replace(/^\/\*\*[\s*]*/, '')
            .slice(0, 60),
        )
      ts.forEachChild(node, visit)
    }
    visit(file)
    return found
  }

  test('comments and pages have no phrase that a native speaker reads twice', () => {
    const PHRASES =
      /\b(?:of before|but for|as which|by (?:itself|themselves)|for who|to be had|says of|he|his|him|himself)\b/i
    const comments = OURS.flatMap((path) =>
      [...read(path).matchAll(/^\s*(?:\/\*\*?|\*|\/\/) .*$|(?<=\s)\/\/ .*$/gm)].map(
        ([line]) => `${path} ${line.trim()}`,
      ),
    )
    const pages = ALL.filter(
      (path) => /^(docs|src)\/.*\.md$|^[A-Z]+\.md$/.test(path) && !path.startsWith('docs/decisions/'),
    )
    const lines = pages.flatMap((path) =>
      read(path)
        .split('\n')
        .map((line) => `${path} ${line.trim()}`),
    )
    // What the program answers is quoted as it is.
    const own = [...comments, ...lines].map((line) => line.replaceAll(/`[^`]*`/g, ''))
    expect(own.filter((line) => PHRASES.test(line))).toEqual([])
  })

  test('only people say and tell: in names and comments a function returns, a check reports, a text reads', () => {
    const SPEECH =
      /\b(?:says?|said|saying|tells?|told|telling)\b|(?:[a-z](?:Said|Says|Told|Tells?)|\b(?:said|says|told|tells?)[A-Z])\w*/
    const withoutTexts = (path: string): string =>
      textOf(path).replace(
        /(\/\*[\s\S]*?\*\/|\/\/[^\n]*)|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g,
        (text, comment?: string) =>
          comment === undefined ? text.replace(/[^\n]/g, ' ') : comment.replace(/"[^"\n]*"/g, '""'),
      )
    expect(placesOf(SPEECH, SOURCES, withoutTexts)).toEqual([])
  })

  test('ARCHITECTURE.md is read in ten minutes: 1,600 words at most', () => {
    expect(read('ARCHITECTURE.md').trim().split(/\s+/).length).toBeLessThanOrEqual(1600)
  })

  test('every feature explains itself in a README of 15 to 40 lines, and names its doors', () => {
    const rooms = readdirSync(join(ROOT, 'src/features'))
    const isPlain = (room: string): boolean => {
      if (!existsSync(join(ROOT, 'src/features', room, 'README.md'))) return false
      const lines = read(`src/features/${room}/README.md`)
        .replace(`${doorsOf(room)}\n\n`, '')
        .trimEnd()
        .split('\n').length
      return doorsOf(room) !== undefined && lines >= 15 && lines <= 40
    }
    expect(rooms.filter((room) => !isPlain(room))).toEqual([])
  })

  test('names of files are written in one way: small letters, with hyphens', () => {
    const written = ALL.filter((path) => /^(src|test|scripts|bench|examples|docs)\/.*\.(ts|js|md)$/.test(path))
    const other = written.filter((path) => !/^(\d{4}-)?[a-z0-9]+([-.][a-z0-9]+)*$/.test(basename(path)))
    expect(other.filter((path) => basename(path) !== 'README.md')).toEqual([])
  })
})

describe('documents', () => {
  const DOCUMENTS = ALL.filter((path) => path.endsWith('.md'))

  test('docs/domain/sandbox.md lists just the cards and accounts that the sandbox treats in ways of their own', () => {
    const manual = read('docs/domain/sandbox.md')
    const listed = [...manual.matchAll(/^\| (\d{4}|\d{16}) \|/gm)].map(([, number]) => number)
    const source = read('src/sandbox/conduct.ts')
    expect(listed.sort()).toEqual([...source.matchAll(/'(\d{4}|\d{16})'/g)].map(([, number]) => number).sort())
    for (const [iban] of manual.matchAll(/DE\d{20}/g)) expect(ibanProblem(iban), iban).toBe(null)
  })

  test('docs/domain/gateways.md lists every Setting of gateways that the page of its type does not', () => {
    const manual =
      read('docs/domain/gateways.md') +
      read('docs/operate/sepa.md') +
      read('docs/operate/ach.md') +
      read('docs/operate/stripe.md') +
      read('docs/operate/gocardless.md')
    const names = GATEWAY_TYPES.flatMap((type) => Object.keys(gatewayFactsOf(type).settings))
    expect(names.filter((name) => !new RegExp(`\\| [^|]*\\b${name}\\b[^|]* \\|`).test(manual))).toEqual([])
  })

  test('docs/events.md lists just the types of events that there are', () => {
    const listed = [...read('docs/events.md').matchAll(/^\| `?([a-z_]+\.[a-z_]+)`? \|/gm)].map(([, type]) => type)
    expect(listed.sort()).toEqual([...EVENT_TYPES].sort())
  })

  test('decisions have numbers of their own, which their titles repeat', () => {
    const pages = readdirSync(join(ROOT, 'docs/decisions')).sort()
    const titles = pages.map((page) => /^# (\d+)\. /.exec(read(`docs/decisions/${page}`))?.[1])
    expect(pages.map((page) => page.slice(0, 4))).toEqual(pages.map((_, index) => String(index + 1).padStart(4, '0')))
    expect(titles).toEqual(pages.map((_, index) => String(index + 1)))
  })

  test('a link leads to something', () => {
    const broken = DOCUMENTS.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(join(ROOT, dirname(path), target)))
        .map((target) => `${path} → ${target}`),
    )
    expect(broken).toEqual([])
  })

  test('nothing leans on texts outside the repository', () => {
    const written = ALL.filter((path) => /\.(ts|js|sql|md|sh|json)$/.test(path) && path !== 'test/tidy.test.ts')
    const outside = placesOf(/\.\.\/shared\/(spec|guide)|decisions-[12]\b|interface-[12]\.md/, written, read)
    expect(outside).toEqual([])
  })

  test('docs/operate/command-line.md tells every command and every option', () => {
    const program = read('src/commands/program.ts')
    const commands = [...program.matchAll(/\.command\('([a-z]+)'\)/g)].map(([, name]) => name)
    const manual = read('docs/operate/command-line.md')
    expect(commands.filter((name) => !new RegExp(`\\b${name}\\b`).test(manual))).toEqual([])
    const options = [...program.matchAll(/'(--[a-z-]+)/g)].map(([, name = '']) => name)
    expect(options.filter((name) => !manual.includes(name))).toEqual([])
  })
})
