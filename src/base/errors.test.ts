import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { errorCode, errorText, unreachable, UserError } from './errors.ts'

class SpecialError extends UserError {
  override readonly exitCode = 7
}

test('a user error carries its hint, its exit code and the name of its class', () => {
  const plain = new UserError('wrong', 'do this')
  expect([plain.name, plain.message, plain.hint, plain.exitCode]).toEqual([
    'UserError',
    'wrong',
    'do this',
    2,
  ])
  expect(plain.problems).toEqual([{ message: 'wrong', hint: 'do this' }])
  const special = new SpecialError('worse')
  expect([special.name, special.hint, special.exitCode]).toEqual(['SpecialError', undefined, 7])
  expect(special).toBeInstanceOf(UserError)
})

test('errorCode finds the code of a system error', () => {
  try {
    readFileSync('/there/is/no/such/file')
    expect.unreachable()
  } catch (error) {
    expect(errorCode(error)).toBe('ENOENT')
  }
})

test.each([
  ['an error without a code', new Error('no code')],
  ['an error with a number for a code', Object.assign(new Error('numeric'), { code: 5 })],
  ['an object that is not an error', { code: 'ENOENT' }],
  ['a string', 'ENOENT'],
  ['nothing', undefined],
])('%s has no code', (_, thrown) => {
  expect(errorCode(thrown)).toBeUndefined()
})

test.each([
  ['an error', new Error('the message'), 'the message'],
  ['a string', 'a string', 'a string'],
  ['nothing', undefined, 'undefined'],
])('there is a text about %s', (_, thrown, text) => {
  expect(errorText(thrown)).toBe(text)
})

test('an unhandled member of a union throws and names it', () => {
  expect(() => unreachable({ type: 'new' } as never)).toThrow('not handled: {"type":"new"}')
})
