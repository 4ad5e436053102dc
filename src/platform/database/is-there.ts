import type pg from 'pg'

/** Whether the schema of a database has a thing, for what works on databases of several ages. */

type Asking = Pick<pg.ClientBase, 'query'>

const answer = async (client: Asking, question: string, name: string): Promise<boolean> =>
  (await client.query<{ is: boolean }>(question, [name])).rows[0]?.is === true

/** Returns whether there is a table, by its name with the schema. */
export const hasTable = (client: Asking, name: string): Promise<boolean> =>
  answer(client, 'select to_regclass($1) is not null as "is"', name)

/** Returns whether there is a function, by its name with the schema and the types that it takes. */
export const hasFunction = (client: Asking, signature: string): Promise<boolean> =>
  answer(client, 'select to_regprocedure($1) is not null as "is"', signature)
