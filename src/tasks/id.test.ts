import { describe, expect, test } from 'bun:test'
import { UserError } from '../base/errors.ts'
import { normalId, parseId, readId, renderId } from './id.ts'

describe('parseId', () => {
  test.each([
    ['1', 'TASK-001'],
    ['001', 'TASK-001'],
    ['TASK-1', 'TASK-001'],
    ['task-001', 'TASK-001'],
    ['Task-00001', 'TASK-001'],
    ['web_2-12', 'WEB_2-012'],
    ['1234', 'TASK-1234'],
    ['999999999', 'TASK-999999999'],
  ])('reads %s as %s', (word, expected) => {
    expect(renderId(parseId(word, 'TASK'))).toBe(expected)
  })

  test.each([
    '',
    ' ',
    'TASK',
    'TASK-',
    'TASK-x',
    '-1',
    '1.5',
    '1e3',
    '0x1',
    'TASK--1',
    'TASK-1/../2',
    '../TASK-1',
    '/etc/passwd',
    'TASK-1234567890',
    '１',
  ])('refuses %j', (word) => {
    expect(() => parseId(word, 'TASK')).toThrow(UserError)
  })
})

test('an id has one canonical form, and other text stays as it is', () => {
  expect(['TASK-1', 'task-01', ' TASK-001 '].map(normalId)).toEqual(Array(3).fill('TASK-001'))
  expect(normalId(' something ')).toBe('something')
  expect(readId('nothing')).toBeUndefined()
})
