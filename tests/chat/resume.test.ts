import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openChat, pipe } from '../support/chat.ts'
import { asked, conversationOf, openNative } from '../support/native.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'
import { fileIn } from '../support/until.ts'

// A chat is a run with a record: it can be resumed after its end and after a kill.

const bash = (command: string) => ({ tool: { name: 'bash', input: { command } } })

test('kill -9 during an answer loses nothing that was shown', async () => {
  const text = 'One two three four five six seven eight nine ten.'
  await using stage = await openNative([
    { text: `${text} ${text}`, chunkDelayMs: 400 },
    { text: 'Fine.' },
  ])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('Count\r')
  await chat.shows(/^One two/m)
  const shown = chat.lines.find((line) => line.startsWith('One'))!
  chat.signal('SIGKILL')
  await chat.exited
  await using again = openChat(stage, { args: ['--resume'] })
  await again.shows(`> Count\n${shown}`)
  again.type('Go on\r')
  await again.shows('Fine.')
  const { messages } = asked(stage).at(-1)!
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(String(messages[1]?.content[0]?.['text'])).toStartWith(shown)
  again.type('\u0004')
  expect(await again.exited).toBe(0)
  expect(filesIn(stage.cwd).filter((name) => name.endsWith('.heard'))).toEqual([])
})

function filesIn(cwd: string): string[] {
  return readdirSync(join(cwd, 'forge/orch/runs'), { recursive: true, encoding: 'utf8' })
}

test('kill -9 during a tool call: after a resume, the result of the call says that it was interrupted', async () => {
  await using stage = await openNative([bash('touch begun; sleep 600'), { text: 'I see.' }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('Work\r')
  await fileIn(stage.cwd, 'begun')
  chat.signal('SIGKILL')
  await chat.exited
  const refused = await stage.run('chat', '--resume', '-p', 'And?')
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('--kill-orphans')
  const { code, stdout } = await stage.run('chat', '--resume', '--kill-orphans', '-p', 'And?')
  expect(`${code} ${stdout}`).toBe('0 I see.\n')
  const { messages } = asked(stage).at(-1)!
  expect(messages.at(-1)?.content).toMatchObject([
    { type: 'tool_result', is_error: true, content: expect.stringContaining('interrupted') },
    { type: 'text', text: 'And?' },
  ])
})

test('a chat resumed by its id keeps its system prompt, and can change its model', async () => {
  await using stage = await openNative([{ text: 'One.' }, { text: 'Other.' }, { text: 'Two.' }])
  await pipe(stage, 'First', 'nat')
  const [first] = runsOf(stage.cwd)
  await pipe(stage, 'Elsewhere', 'nat')
  await Bun.write(
    join(stage.cwd, 'forge/orch/chains.json'),
    JSON.stringify({ agents: { nat: { engine: 'native', systemPromptText: 'New.' } }, chains: {} }),
  )
  const { code, stdout } = await pipe(stage, 'Second', '--resume', first!, '--model', 'opus')
  expect(`${code} ${stdout}`).toBe('0 Two.\n')
  const last = stage.model.requests.at(-1)!.body as { model: string }
  expect(last.model).toBe('claude-opus-5-5')
  const bodies = asked(stage)
  expect(bodies.at(-1)?.messages.map(({ content }) => content[0]?.['text'])).toEqual([
    'First',
    'One.',
    'Second',
  ])
  expect(bodies.at(-1)?.system).toEqual(bodies[0]!.system)
  expect(bodies.at(-1)?.tools).toEqual(bodies[0]?.tools)
})

test('a chat appears in chat --list, cost and logs, and resume refers to chat --resume', async () => {
  await using stage = await openNative([{ text: 'One.' }, { text: 'Two.' }])
  await pipe(stage, 'First', 'nat')
  await pipe(stage, 'Second', '--resume')
  const [run] = runsOf(stage.cwd)
  const list = JSON.parse((await stage.run('chat', '--list', '--json')).stdout) as object
  expect(list).toMatchObject({
    ok: true,
    chats: [{ run, status: 'complete', agent: 'nat', turns: 2, last: 'Second' }],
  })
  expect((await stage.run('chat', '--list')).stdout).toMatch(/complete +nat .* 2 turns .* Second/)
  expect((await stage.run('cost')).stdout).toMatch(/ 2 +200 +40 .*\$0\.0008/)
  expect((await stage.run('logs', run!)).stdout).toMatch(/One\.\n[^]*Two\.\n/)
  const resumed = await stage.run('resume', run!)
  expect(resumed.stderr).toContain(`continue it with: forkhestra chat --resume ${run}`)
  const ended = ofType(journalOf(stage.cwd, run!), 'iteration_ended')
  expect(ended.map(({ usage }) => usage?.tokens?.input)).toEqual([100, 100])
  expect(conversationOf(stage.cwd).filter(({ type }) => type === 'user')).toHaveLength(2)
})

test('a chat in a copied project is not taken for a chat of this one', async () => {
  await using stage = await openNative([{ text: 'One.' }])
  await stage.run('chat', 'nat', '-p', 'Go')
  const [run] = runsOf(stage.cwd)
  rmSync(join(stage.cwd, 'forge/orch/runs', run!, 'signature'))
  expect((await stage.run('chat', '--list')).stdout).toContain(run!)
  const { code, stderr } = await stage.run('chat', '--resume', '-p', 'x')
  expect(code).toBe(2)
  expect(stderr).toContain('No chat was created here.\n  See the others: forkhestra chat --list\n')
})

test('an open chat is locked, and a run that is not a chat is refused', async () => {
  const error = { status: 400, message: 'not now' }
  await using stage = await openNative([{ error }, { text: 'Two.' }])
  for (const message of [['-p', 'x'], []]) {
    expect(await stage.run('chat', '--resume', ...message)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No chats yet.'),
    })
  }
  await stage.run('nat', '-p', 'Go')
  const [run] = runsOf(stage.cwd)
  expect((await stage.run('chat', '--resume', run!, '-p', 'x')).stderr).toContain('is not a chat')
  await using chat = openChat(stage)
  await chat.shows('/help')
  const taken = await stage.run('chat', '--resume', '-p', 'x')
  expect(taken.code).toBe(1)
  expect(taken.stderr).toContain('is already running (process')
  // `resume` without an id skips chats.
  chat.signal('SIGKILL')
  await chat.exited
  expect((await stage.run('resume')).stdout).toContain(`Resuming run ${run}`)
})

test('secrets are masked in the record, even in an unfinished answer', async () => {
  const key = 'sk-ant-secret-0123456789abcdef'
  await using stage = await openNative([
    { text: `The key is ${key}, and much more is to be said of it.`, chunkDelayMs: 300 },
  ])
  await using chat = openChat(stage, { env: { ANTHROPIC_API_KEY: key } })
  await chat.shows('/help')
  chat.type('Which?\r')
  await chat.shows('The key is [masked ANTHROPIC_API_KEY], and')
  chat.signal('SIGKILL')
  await chat.exited
  const heard = filesIn(stage.cwd).filter((name) => name.endsWith('.heard'))
  expect(heard).toHaveLength(1)
  const text = readFileSync(join(stage.cwd, 'forge/orch/runs', heard[0]!), 'utf8')
  expect(text).toContain('[masked ANTHROPIC_API_KEY]')
  expect(text).not.toContain(key)
})

test('chats recorded before forge/ existed are listed and can be resumed', async () => {
  await using stage = await openNative([{ text: 'One.' }, { text: 'Two.' }])
  const { cwd } = stage
  renameSync(join(cwd, 'forge'), join(cwd, 'away'))
  await stage.run('chat', '-p', 'Hi')
  mkdirSync(join(cwd, 'forge'))
  expect((await stage.run('chat', '--list')).stdout).toContain('1 turn ')
  expect((await stage.run('chat', '--resume', '-p', 'Go on')).stdout).toBe('Two.\n')
  expect(asked(stage).at(-1)?.messages).toHaveLength(3)
})

test('every message about a killed chat with orphans names the command that ends them', async () => {
  await using stage = await openNative([bash('touch begun; sleep 600'), { text: 'I see.' }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('Work\r')
  await fileIn(stage.cwd, 'begun')
  chat.signal('SIGKILL')
  await chat.exited
  const [run = ''] = runsOf(stage.cwd)
  const command = `forkhestra chat --resume ${run} --kill-orphans`
  const asks = [
    ['status'],
    ['runs'],
    ['show', run],
    ['doctor'],
    ['resume', run],
    ['resume', run, '--kill-orphans'],
    ['chat', '--resume', run, '-p', 'And?'],
    ['run', '/bin/true'],
  ]
  for (const words of asks) {
    const { stdout, stderr } = await stage.run(...words)
    expect(stdout + stderr).toContain(command)
    expect(stdout + stderr).not.toContain('forkhestra resume')
  }
  for (const words of [
    ['logs', run, '--follow'],
    ['stop', run],
  ])
    expect((await stage.run(...words)).stderr).toContain(`forkhestra chat --resume ${run}\n`)
  await using again = openChat(stage, { args: ['--resume'], columns: 200 })
  await again.shows('Kill them? [y/N]')
  again.type('y\r')
  await again.shows('/help')
  again.type('And?\r')
  await again.shows('I see.')
  again.type('\u0004')
  expect(await again.exited).toBe(0)
  expect(again.text.split('And?')).toHaveLength(2)
})

test('a chat is listed by the last message of the person, not by files that were read', async () => {
  await using stage = await openNative([{ text: 'One.' }], { files: { 'a.md': 'A\n' } })
  const { code } = await pipe(stage, 'First\n/read a.md\n', 'nat', '--lines')
  expect(code).toBe(0)
  const list = JSON.parse((await stage.run('chat', '--list', '--json')).stdout) as object
  expect(list).toMatchObject({ chats: [{ last: 'First' }] })
})
