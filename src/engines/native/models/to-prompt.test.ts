import { expect, test } from 'bun:test'
import type { Head, Message } from '../conversation/entry.ts'
import { toPrompt, toTools } from './to-prompt.ts'

const tool = (name: string) => ({ name, description: name, inputSchema: { type: 'object' } })
const HEAD: Head = { id: 'c', model: 'm', system: 'Be.', tools: [tool('a'), tool('b')], print: '' }
const user = (text: string): Message => ({ type: 'user', text })
const call = (id: string) => ({ type: 'call' as const, id, name: 'a', input: {} })
const result = (id: string, text = 'ok'): Message => ({ type: 'result', id, name: 'a', text })

const rolesOf = (messages: readonly Message[]) => toPrompt(HEAD, messages).map(({ role }) => role)

test('consecutive results form one turn', () => {
  const calls: Message = { type: 'assistant', parts: [call('1'), call('2')] }
  const messages = [user('Go.'), calls, result('1'), result('2')]
  expect(rolesOf(messages)).toEqual(['system', 'user', 'assistant', 'tool'])
})

test('an empty answer is not sent back', () => {
  const blank: Message = { type: 'assistant', parts: [{ type: 'text', text: ' \n' }] }
  const none: Message = { type: 'assistant', parts: [] }
  expect(rolesOf([user('Go.'), blank, user('And?'), none, user('Well?')])).toEqual([
    'system',
    'user',
    'user',
    'user',
  ])
})

test('an empty result is sent as a placeholder', () => {
  const messages = [
    user('Go.'),
    { type: 'assistant', parts: [call('1')] } as const,
    result('1', ''),
  ]
  expect(JSON.stringify(toPrompt(HEAD, messages).at(-1))).toContain('(nothing)')
})

test('at most four cache marks are set', () => {
  const turn = (id: string): Message[] => [{ type: 'assistant', parts: [call(id)] }, result(id)]
  const messages = [user('Go.'), ...turn('1'), ...turn('2'), ...turn('3')]
  const marked = [...toPrompt(HEAD, messages), ...toTools(HEAD)].filter(
    ({ providerOptions }) => providerOptions !== undefined,
  )
  expect(marked).toHaveLength(4)
})

test('earlier messages are the same in every later request', () => {
  const turn = (id: string): Message[] => [{ type: 'assistant', parts: [call(id)] }, result(id)]
  const plain = (messages: readonly Message[]) =>
    toPrompt(HEAD, messages).map(({ providerOptions: _mark, ...rest }) => rest)
  const before = plain([user('Go.'), ...turn('1')])
  const after = plain([user('Go.'), ...turn('1'), ...turn('2'), user('More.')])
  expect(after.slice(0, before.length)).toEqual(before)
})
