import { afterEach, expect, test } from 'bun:test'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Mask } from '../../../base/secrets/mask.ts'
import type { CallPart, Head, Message } from './entry.ts'
import { History, type ResumePolicy } from './history.ts'
import { BUDGET_AGAIN, CONTINUE, reportRequest } from './own-messages.ts'

const folder = mkdtempSync(join(tmpdir(), 'forkhestra-history-'))
const path = join(folder, 'sub/a.ndjson')

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const HEAD: Head = { id: 'c-1', model: 'anthropic/m', system: 'Be.', tools: [], print: 'p1' }
const TOKENS = { input: 10, output: 5, cacheRead: 2, cacheWrite: 1 }
const call = (id: string): CallPart => ({ type: 'call', id, name: 'bash', input: {} })
const answer = (...parts: (string | CallPart)[]): Message => ({
  type: 'assistant',
  parts: parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part)),
  tokens: TOKENS,
  costUsd: 0.5,
})
const result = (id: string): Message => ({ type: 'result', id, name: 'bash', text: 'ok' })

const open = (
  resumePolicy: ResumePolicy = 'answered',
  head = HEAD,
  env: Record<string, string> = {},
) => {
  const mask = new Mask(env)
  return History.open(head, { path, mask: (data) => mask.data(data), env }, resumePolicy)
}

/** As a process leaves it that is killed: without an end. */
function leave(...messages: readonly Message[]): void {
  const history = open('never')
  for (const message of messages) history.add(message)
}

test('answers are counted per question, and only continuations are joined', () => {
  const user = (text: string): Message => ({ type: 'user', text })
  const cut = (text: string): Message => ({ ...answer(text), finish: 'length' }) as Message
  leave(user('One?'), answer('1'), user('Two?'), cut('a'), user(CONTINUE), cut('b'))
  const history = open()
  const counts = () => [history.answersToQuestion.length, history.lastAnswers.length]
  expect([...counts(), history.isCutOff]).toEqual([2, 2, true])
  history.add(user(CONTINUE))
  expect([...counts(), history.isCutOff]).toEqual([2, 2, true])
  history.add(user(reportRequest('$1 of $1')))
  history.add(answer('Report.'))
  expect([...counts(), history.isCutOff]).toEqual([3, 1, false])
  history.add(user(BUDGET_AGAIN))
  history.add(cut('c'))
  expect([...counts(), history.isCutOff]).toEqual([4, 1, true])
  history.add(user('Three?'))
  expect([...counts(), history.isCutOff]).toEqual([0, 1, false])
})

test('messages are restored in order', () => {
  const messages: Message[] = [{ type: 'user', text: 'Go.' }, answer('Hm.', call('1')), result('1')]
  leave(...messages)
  const history = open()
  expect(history.isResumed).toBe(true)
  expect(history.messages).toMatchObject(messages)
  expect(history.head.id).toBe('c-1')
})

test.each([
  ['the head differs', { ...HEAD, print: 'p2' }, 'answered' as const],
  ['the policy is never', HEAD, 'never' as const],
])('it starts over if %s', (_, head, resumePolicy) => {
  leave({ type: 'user', text: 'Go.' }, answer('Hm.'))
  const before = readFileSync(path, 'utf8')
  const history = open(resumePolicy, head)
  expect([history.isResumed, history.messages]).toEqual([false, []])
  // What was paid for is not thrown away.
  expect(readFileSync(`${path}.1`, 'utf8')).toBe(before)
})

test('before the first answer it starts over, unless the policy is always', () => {
  leave({ type: 'user', text: 'Go.' })
  expect(open('always', { ...HEAD, print: 'p2' }).head).toMatchObject(HEAD)
  expect(open('always').isResumed).toBe(true)
  expect(open('answered').isResumed).toBe(false)
})

test('open calls get results: the first may have happened, the others were not started', () => {
  leave({ type: 'user', text: 'Go.' }, answer(call('1'), call('2'), call('3')), result('1'))
  const history = open()
  history.answerInterruptedCalls()
  const texts = history.messages
    .slice(3)
    .map((message) => message.type === 'result' && message.text)
  expect(texts).toEqual([
    expect.stringContaining('may or may not have happened'),
    expect.stringContaining('was not started'),
  ])
  history.answerInterruptedCalls()
  expect(history.messages).toHaveLength(5)
})

test.each(['{"type":"user","te', '{"type":"user","text":"x"}', 'nonsense\n', '{"type":"else"}\n'])(
  'an incomplete end %j is removed before the next entry',
  (torn) => {
    leave({ type: 'user', text: 'Go.' }, answer('Hm.'))
    const whole = readFileSync(path, 'utf8')
    appendFileSync(path, torn)
    const history = open()
    history.add({ type: 'user', text: 'More.' })
    expect(history.messages).toHaveLength(3)
    const lines = readFileSync(path, 'utf8')
    expect(lines).toStartWith(whole)
    expect(lines.slice(whole.length).trim().split('\n')).toHaveLength(1)
    expect(open().messages).toHaveLength(3)
  },
)

test('a file that is not a conversation is replaced', () => {
  leave()
  writeFileSync(path, 'what is this?\n')
  expect(open().isResumed).toBe(false)
})

test('usage is reported once', () => {
  const first = open('never')
  first.add(answer('One.'))
  first.close()
  const second = open()
  expect(second.usage.turns).toBe(0)
  second.add(answer('Two.'))
  expect(second.usage).toEqual({ turns: 1, tokens: TOKENS, costUsd: 0.5 })
  const third = open()
  third.add(answer('Three.'))
  expect(third.usage).toMatchObject({ turns: 2, costUsd: 1, tokens: { input: 20 } })
})

test('secrets are masked on disk and restored, and signatures stay complete', () => {
  const env = { MY_TOKEN: 'ghp_abcdefghij0123456789' }
  const meta = { anthropic: { signature: `x ${env.MY_TOKEN} y` } }
  const history = open('never', HEAD, env)
  history.add({
    type: 'assistant',
    parts: [
      { type: 'thinking', text: 'Hm.', meta },
      { type: 'text', text: `It is ${env.MY_TOKEN}.` },
    ],
  })
  expect(readFileSync(path, 'utf8')).toContain('It is [masked MY_TOKEN].')
  expect(open('answered', HEAD, env).messages[0]).toMatchObject({
    parts: [{ meta }, { text: `It is ${env.MY_TOKEN}.` }],
  })
})

test.each([
  'Write [masked MY_TOKEN] here.',
  '[masked! MY_TOKEN] and [masked!!',
  '[masked MY_TOKEN:base64] [masked]',
  '[masked[masked MY_TOKEN]]',
])('text that looks like a mask is kept: %s', (text) => {
  const env = { MY_TOKEN: 'ghp_abcdefghij0123456789' }
  const history = open('never', HEAD, env)
  const meta = { anthropic: { signature: text } }
  history.add({ type: 'assistant', parts: [{ type: 'thinking', text, meta }] })
  history.add({ type: 'result', id: '1', name: 'read', text: `${text} ${env.MY_TOKEN} ${text}` })
  expect(readFileSync(path, 'utf8')).not.toContain(env.MY_TOKEN)
  expect(open('answered', HEAD, env).messages).toMatchObject([
    { parts: [{ text, meta }] },
    { text: `${text} ${env.MY_TOKEN} ${text}` },
  ])
})

test('usage that was marked as reported is not reported again', () => {
  const history = open('never')
  history.add(answer('One.'))
  history.noteReported()
  history.markReported()
  history.answerInterruptedCalls()
  expect(open().usage.turns).toBe(0)

  history.add(answer('Two.'))
  history.markReported()
  expect(open().usage.turns).toBe(1)
})

test('diffs are stored, but not sent to the model', () => {
  leave(answer(call('1')), { ...result('1'), diff: '+x' } as Message)
  expect(readFileSync(path, 'utf8')).toContain('"diff":"+x"')
  expect(open().messages[1]).not.toHaveProperty('diff')
})

/** A disk of its own, gone with the script; the first page of the file fits, and then nothing. */
const ON_SMALL_DISK = `
  const { existsSync, readdirSync, rmSync, writeFileSync } = await import('node:fs')
  const { History } = await import(process.env.HISTORY)
  const storage = { path: 'a.ndjson', mask: (data) => data, env: {} }
  const head = ${JSON.stringify({ id: 'c', model: 'm', system: '', tools: [], print: 'p' })}
  const history = History.open(head, storage, 'never')
  const add = (text) => history.add({ type: 'assistant', parts: [{ type: 'text', text }] })
  add('One.')
  try { writeFileSync('fill', Buffer.alloc(1 << 20)) } catch {}
  add('Two.'.repeat(5000))
  const full = { trouble: history.takeProblem(), files: readdirSync('.') }
  const resumed = History.open(head, { ...storage, path: 'a.ndjson' }, 'answered').isResumed
  for (const name of ['fill', 'a.ndjson']) rmSync(name, { force: true })
  add('Three.')
  const { messages } = History.open(head, storage, 'answered')
  console.log(JSON.stringify({ ...full, resumed, again: history.takeProblem(), count: messages.length }))
`

test('with a full disk, an incomplete conversation is not resumed; with free space, it is completed', async () => {
  const script = 'mount -t tmpfs -o size=64k none . && cd "$PWD" && exec "$0" -e "$1"'
  const child = Bun.spawn(['unshare', '-rm', 'sh', '-c', script, process.execPath, ON_SMALL_DISK], {
    cwd: mkdtempSync(join(tmpdir(), 'forkhestra-disk-')),
    env: { ...process.env, HISTORY: join(import.meta.dir, 'history.ts') },
    stderr: 'inherit',
  })
  const said = JSON.parse(await new Response(child.stdout).text()) as object
  expect(said).toEqual({
    trouble: expect.stringContaining('cannot store the conversation: ENOSPC'),
    files: ['a.ndjson.1', 'fill'],
    resumed: false,
    again: 'the conversation can be stored again',
    count: 3,
  })
})

test('a conversation that cannot be stored continues', () => {
  const full = { path: '/dev/full', mask: <Data>(data: Data) => data, env: {} }
  const history = History.open(HEAD, full, 'never')
  history.add({ type: 'user', text: 'Go.' })
  expect(history.messages).toHaveLength(1)
  expect(history.takeProblem()).toContain('cannot store the conversation')
  expect(history.takeProblem()).toBeUndefined()
})
