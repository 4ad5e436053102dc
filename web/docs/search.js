// Finds operations and fields of the reference; without it every page can be read all the same.
const form = document.getElementById('search')
const input = form.querySelector('input')
const list = form.querySelector('ul')
const RESULTS_MAX = 12
let index

const load = () => (index ??= fetch('/docs/search.json').then((answer) => answer.json()))

function hitsOf({ pages, operations, parameters, records, fields }, words) {
  const fits = (text) => words.every((word) => text.toLowerCase().includes(word))
  const found = []
  for (const [path, tag] of pages) if (fits(tag)) found.push([path, tag, 'Resource'])
  for (const [page, id, path, summary] of operations)
    if (fits(`${summary} ${path} ${id}`)) found.push([`${pages[page][0]}#${id}`, summary, path])
  for (const [name, where] of Object.entries(parameters))
    if (fits(name))
      for (const place of where) {
        const [page, id, path] = operations[place]
        found.push([`${pages[page][0]}#${id}.query.${name}`, name, path])
      }
  for (const [field, where] of Object.entries(fields))
    if (fits(field))
      for (const place of where)
        found.push([`${pages[records[place][0]][0]}#${records[place][1]}.${field}`, field, records[place][1]])
  const asked = words.join(' ')
  const rank = ([, title]) => (title.toLowerCase() === asked ? 0 : 1)
  return found.sort((one, other) => rank(one) - rank(other)).slice(0, RESULTS_MAX)
}

function showNothing() {
  const item = document.createElement('li')
  item.appendChild(document.createElement('span')).textContent = 'Nothing found'
  list.replaceChildren(item)
}

function show(hits) {
  list.replaceChildren(
    ...hits.map(([href, title, about]) => {
      const item = document.createElement('li')
      const link = item.appendChild(document.createElement('a'))
      link.href = href
      link.textContent = title
      link.append(' ')
      link.appendChild(document.createElement('small')).textContent = about
      return item
    }),
  )
}

input.addEventListener('focus', load, { once: true })
input.addEventListener('input', async () => {
  const asked = input.value
  const found = await load()
  if (asked !== input.value) return
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean)
  const hits = words.length > 0 ? hitsOf(found, words) : []
  if (words.length > 0 && hits.length === 0) showNothing()
  else show(hits)
})
list.addEventListener('click', () => show([]))
form.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') show([])
})
form.addEventListener('submit', (event) => {
  event.preventDefault()
  list.querySelector('a')?.click()
})
form.hidden = false
// On a narrow page the contents would come before the text.
if (matchMedia('(max-width: 50rem)').matches) document.querySelector('nav details').open = false
