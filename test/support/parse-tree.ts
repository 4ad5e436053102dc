/** PostgreSQL's own parse trees as it prints them (pg_node_tree), so that rules about SQL look at what a statement means. */

/** A node: its type, and of each field all that was printed for it, in order. */
export interface TreeNode {
  type: string
  fields: Map<string, TreeValue[]>
}

export type TreeValue = TreeNode | TreeValue[] | string

const TOKEN = /[{}()]|(?:\\.|[^\s(){}\\])+/g

/** Reads a printed tree. */
export function readTree(printed: string): TreeValue {
  const tokens = printed.match(TOKEN) ?? []
  let at = 0
  const value = (): TreeValue => {
    const token = tokens[at++] ?? ''
    if (token === '{') return node()
    if (token !== '(') return token
    const list: TreeValue[] = []
    while (at < tokens.length && tokens[at] !== ')') list.push(value())
    at += 1
    return list
  }
  const node = (): TreeNode => {
    const type = tokens[at++] ?? ''
    const fields = new Map<string, TreeValue[]>()
    let field: TreeValue[] = []
    while (at < tokens.length && tokens[at] !== '}') {
      const token = tokens[at] ?? ''
      if (token.startsWith(':')) {
        fields.set(token.slice(1), (field = []))
        at += 1
      } else field.push(value())
    }
    at += 1
    return { type, fields }
  }
  return value()
}

export const isNode = (value: TreeValue): value is TreeNode => typeof value === 'object' && !Array.isArray(value)

/** The first thing printed for a field. */
export const first = (node: TreeNode, field: string): TreeValue | undefined => node.fields.get(field)?.[0]

export const numberOf = (node: TreeNode, field: string): number => Number(first(node, field))

/** The nodes in a list field. */
export const nodesOf = (node: TreeNode, field: string): TreeNode[] => {
  const list = first(node, field)
  return Array.isArray(list) ? list.filter(isNode) : []
}

/** A value and all nodes below it, those where `enters` says no left out. */
export function* nodesBelow(value: TreeValue, enters: (node: TreeNode) => boolean = () => true): Generator<TreeNode> {
  if (Array.isArray(value)) for (const one of value) yield* nodesBelow(one, enters)
  else if (isNode(value) && enters(value)) {
    yield value
    for (const field of value.fields.values()) yield* nodesBelow(field, enters)
  }
}
