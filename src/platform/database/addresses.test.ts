import { expect, test } from 'vitest'
import { serversOf, shownServer, withoutOptions } from './addresses.ts'

test('an address of several servers is one address for each, with user, password, database and settings', () => {
  expect(serversOf('postgres://me:p%40ss@one:5433,two,[::1]:5434/books?sslmode=require')).toEqual([
    'postgres://me:p%40ss@one:5433/books?sslmode=require',
    'postgres://me:p%40ss@two/books?sslmode=require',
    'postgres://me:p%40ss@[::1]:5434/books?sslmode=require',
  ])
  expect(serversOf('postgres://me@localhost/books?host=/a,/b')).toEqual([
    'postgres://me@localhost/books?host=%2Fa',
    'postgres://me@localhost/books?host=%2Fb',
  ])
})

test('an address is shown with the servers that it names, and without user and password', () => {
  expect(shownServer('postgres://me:secret@one:5433,two/books')).toBe('one:5433/books or two/books')
  expect(shownServer('postgres://me:secret@localhost:5433/books?host=one,two')).toBe('one:5433/books or two:5433/books')
  expect(shownServer('postgres:///books')).toBe('localhost/books')
})

test('an address of one server stays what it is, also with a comma in its password', () => {
  for (const address of ['postgres://me:a,b@one/books', 'postgresql://one', 'postgres://one/books?host=/a'])
    expect(serversOf(address)).toEqual([address])
})

test('settings of the session leave the address, so that ours can follow them', () => {
  expect(withoutOptions('postgres://one/books?sslmode=require&options=-c%20work_mem%3D1MB')).toEqual({
    address: 'postgres://one/books?sslmode=require',
    options: '-c work_mem=1MB ',
  })
  expect(withoutOptions('postgres://one:1,two:2/books?application_name=books&sslmode=require')).toEqual({
    address: 'postgres://one:1,two:2/books?sslmode=require',
    options: '',
  })
  expect(withoutOptions('postgres://one/books')).toEqual({ address: 'postgres://one/books', options: '' })
})
