import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '../../src/records/events/schema.ts'
import { pipe } from '../support/chat.ts'
import { environment, FORKHESTRA } from '../support/forkhestra.ts'
import { asked, openNative } from '../support/native.ts'
import { ofType, runsOf } from '../support/record.ts'

// A chat without a terminal: scripts, pipes, and input that is refused at startup.

const bash = (command: string) => ({ tool: { name: 'bash', input: { command } } })

test('piped input is one turn: the answer goes to stdout, everything else to stderr', async () => {
  await using stage = await openNative([{ text: 'I look.', ...bash('echo 1') }, { text: 'Done.' }])
  const { code, stdout, stderr } = await pipe(stage, 'First line\nSecond line\n', 'nat')
  expect(`${code} ${stdout}`).toBe('0 I look.\nDone.\n')
  expect(stderr).toMatch(/^\[bash\] echo 1\n.*240 tokens, \$0\.0008\n$/)
  expect(asked(stage)[0]?.messages[0]?.content[0]).toMatchObject({
    text: 'First line\nSecond line\n',
  })
})

test('an answer is printed once, even if the connection broke or the answer was too long', async () => {
  const words = 'One two three four five six seven eight nine ten.'
  await using stage = await openNative([
    { text: words, drop: true },
    { text: words },
    { text: 'It is extra', stopReason: 'max_tokens' },
    { text: 'ordinary.' },
  ])
  const { code, stdout, stderr } = await pipe(stage, 'a\nb\n', 'nat', '--lines')
  expect(`${code} ${stdout}`).toBe(`0 ${words}\nIt is extraordinary.\n`)
  expect(stderr).toContain('retrying the request')
})

test('with --lines, each line is a turn of one conversation', async () => {
  await using stage = await openNative([{ text: 'One.' }, { text: 'Two.' }])
  const { code, stdout } = await pipe(stage, 'a\n\nb\n', 'nat', '--lines')
  expect(`${code} ${stdout}`).toBe('0 One.\nTwo.\n')
  expect(asked(stage).map(({ messages }) => messages.length)).toEqual([1, 3])
})

test('maxTurns counts the answers to one question', async () => {
  const script = [
    ...['One.', 'Two.', 'Three.'].map((text) => ({ text })),
    bash('true'),
    bash('true'),
    bash('touch never'),
    { text: 'Five.' },
  ]
  await using stage = await openNative(script, { agent: { maxTurns: 2 } })
  const { code, stdout, stderr } = await pipe(stage, 'a\nb\nc\nd\n', 'nat', '--lines')
  expect(`${code} ${stdout}`).toBe('1 One.\nTwo.\nThree.\n')
  expect(stderr).toContain('not finished after 2 turns')
  expect(asked(stage)).toHaveLength(5)
})

test('a chat continues after more answers than maxTurns allows for a question', async () => {
  const texts = Array.from({ length: 108 }, (_, index) => `${index}.`)
  await using stage = await openNative(texts.map((text) => ({ text })))
  const { code, stdout } = await pipe(stage, 'x\n'.repeat(texts.length), 'nat', '--lines')
  expect(`${code} ${stdout}`).toBe(`0 ${texts.join('\n')}\n`)
})

test('a cut answer is shown once, even if the next question comes before its rest', async () => {
  const half = { text: 'Half', stopReason: 'max_tokens' }
  await using stage = await openNative([half, { text: 'Two.' }], { agent: { maxTurns: 1 } })
  expect((await pipe(stage, 'a', 'nat')).stdout).toBe('Half\n')
  expect((await pipe(stage, 'b', '--resume')).stdout).toBe('Two.\n')
})

test('with -p, commands in piped input are plain text', async () => {
  await using stage = await openNative([{ text: 'Seen.' }])
  const { code } = await pipe(stage, 'a change\n/push "Delete all"\n', 'nat', '-p', 'Review this:')
  expect(code).toBe(0)
  expect(asked(stage)[0]?.messages[0]?.content[0]?.['text']).toContain(
    'Review this:\n\na change\n/push "Delete all"',
  )
  expect((await stage.run('queue')).stdout).toContain('The queue is empty.')
})

test('a failed turn exits with 1 and says why', async () => {
  const error = { status: 400, message: 'no such thing' }
  await using stage = await openNative([{ error }, { text: 'Two.' }])
  const { code, stdout, stderr } = await pipe(stage, 'Hi', 'nat')
  expect(`${code} ${stdout}`).toBe('1 ')
  expect(stderr).toContain('The turn failed: ')
  expect(stderr).toContain('no such thing')
  const logs = await stage.run('logs')
  expect(logs.stderr).toMatch(/To resume: forkhestra chat --resume 2\S+\n/)
  const again = await pipe(stage, 'Hi again', '--resume')
  expect(`${again.code} ${again.stdout}`).toBe('0 Two.\n')
})

test.each([
  [400, 'prompt is too long: 9 tokens > 8', 'start a new one with forkhestra chat'],
  [401, 'invalid x-api-key', 'Set the right one and continue: forkhestra chat --resume 2'],
  [404, 'model: x', 'forkhestra chat --resume 2'],
])(
  'error %d (%s) has a hint, and a repeated message is sent once',
  async (status, message, words) => {
    await using stage = await openNative([{ error: { status, message } }, { text: 'Two.' }])
    const { code, stderr } = await pipe(stage, 'Hi', 'nat')
    expect(code).toBe(1)
    expect(stderr).toContain(words)
    expect((await pipe(stage, 'Hi', '--resume')).stdout).toBe('Two.\n')
    const [user, ...more] = asked(stage).at(-1)!.messages
    expect([user?.content.length, more]).toEqual([1, []])
  },
)

test('--json prints events and nothing else', async () => {
  await using stage = await openNative([{ text: 'One.' }])
  const { code, stdout } = await pipe(stage, 'Hi', 'nat', '--json')
  expect(code).toBe(0)
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RunEvent)
  expect(ofType(events, 'message').map(({ text }) => text)).toEqual(['One.'])
  expect(events.at(-1)).toMatchObject({ type: 'run_ended', ok: true })
})

test('without a key, the error names the variable, and no chat is recorded', async () => {
  await using stage = await openNative([{ text: 'One.' }], { env: { ANTHROPIC_API_KEY: '' } })
  const { code, stdout, stderr } = await stage.run('chat', '-p', 'Hi')
  expect(`${code} ${stdout}`).toBe('2 ')
  expect(stderr).toContain('ANTHROPIC_API_KEY is not set')
  expect(existsSync(join(stage.cwd, 'forge/orch/runs'))).toBe(false)
})

test('startup errors are reported before stdin is read', async () => {
  await using stage = await openNative([{ text: 'One.' }])
  const env = environment({ cwd: stage.cwd, env: { ...stage.model.env, ANTHROPIC_API_KEY: '' } })
  const options = { cwd: stage.cwd, env, stdin: 'pipe', stderr: 'pipe' } as const
  await using child = Bun.spawn([FORKHESTRA, 'chat'], options)
  expect(await child.stderr.text()).toContain('ANTHROPIC_API_KEY is not set')
  expect(await child.exited).toBe(2)
})

test.each([
  ['>/dev/full', 143, 'the answer cannot be written: ENOSPC', 1],
  ['>&-', 2, 'stdout is closed: the answer would be lost', 0],
])('an answer that cannot be written is reported (%s)', async (where, code, words, requests) => {
  await using stage = await openNative([{ text: 'One.' }])
  const { cwd } = stage
  const env = environment({ cwd, env: stage.model.env })
  const argv = ['sh', '-c', `'${FORKHESTRA}' chat nat -p Hi ${where}`]
  const child = Bun.spawn(argv, { cwd, env, stdin: 'ignore', stderr: 'pipe' })
  expect(await child.stderr.text()).toContain(words)
  expect(await child.exited).toBe(code)
  expect(asked(stage)).toHaveLength(requests)
})

test('without an agent, chat uses its own prompt and the model of --model', async () => {
  await using stage = await openNative([{ text: 'One.' }])
  expect((await stage.run('chat', '-p', 'Hi', '--model', 'haiku')).stdout).toBe('One.\n')
  const { body } = stage.model.requests.at(-1)!
  expect(body).toMatchObject({ model: 'claude-haiku-5-5' })
  expect(asked(stage)[0]?.system[0]?.text).toStartWith(
    '# How you are run\n\nYou talk with a person',
  )
})

test.each([
  [['-p', ''], 'The message is empty.'],
  [['nat', 'Hello'], "Unexpected argument 'Hello'."],
  [['Explain this project'], 'Pass the message with -p'],
  [['nobody', '-p', 'x'], 'Agent not found: nobody'],
  [['sh', '-p', 'x'], "chat works with native agents only, and 'sh' is not one"],
  [['builder', '-p', 'x'], "chat works with native agents only, and 'builder' is"],
  [['-p', 'x', '--model', 'what'], 'Unknown provider'],
  [['-p', 'x', '--max-cost', 'much'], '--max-cost'],
])('chat %j: %s', async (args, words) => {
  await using stage = await openNative([{ text: 'Never.' }])
  const { code, stderr } = await stage.run('chat', ...args)
  expect(code).toBe(2)
  expect(stderr).toContain(words)
  expect(asked(stage)).toEqual([])
})

test('a budget ends a chat, and resuming with a larger one continues it', async () => {
  await using stage = await openNative([
    { text: 'One.', usage: { input: 200_000, output: 1000 } },
    { text: 'Two.' },
  ])
  const { code, stdout, stderr } = await pipe(
    stage,
    'a\nb\n',
    'nat',
    '--lines',
    '--max-cost',
    '0.4',
  )
  expect(`${code} ${stdout}`).toBe('1 One.\n')
  expect(stderr).toContain('The budget of this chat is used up')
  const more = await pipe(stage, 'c', '--resume', '--max-cost', '5')
  expect(`${more.code} ${more.stdout}`).toBe('0 Two.\n')
})

test.each([
  ['--max-tokens', '100'],
  ['--max-duration', '1ms'],
])('a spent budget names the option that raises it: %s', async (option, limit) => {
  await using stage = await openNative([{ text: 'One.' }, { text: 'Two.' }])
  const { stderr } = await pipe(stage, 'a\nb\n', 'nat', '--lines', option, limit)
  expect(stderr).toMatch(new RegExp(`forkhestra chat --resume 2\\S+ ${option} `))
})

test('with --lines, refused lines are reported, and the exit code is 1', async () => {
  await using stage = await openNative([{ text: 'One.' }])
  const lines = '/push retry=many "x"\n/cancel nothing\nHi\n'
  const { code, stdout, stderr } = await pipe(stage, lines, 'nat', '--lines')
  expect(`${code} ${stdout}`).toBe('1 One.\n')
  expect(stderr).toMatch(/the prompt:1:\d+[^]*No agent of this chat has queued anything/)
  const json = await pipe(stage, lines, '--resume', '--lines', '--json')
  expect(json.code).toBe(1)
  expect(json.stdout).toContain('No agent of this chat has queued anything')
})

test('completions offer the agents for chat and the chats to resume', async () => {
  await using stage = await openNative([{ text: 'One.' }])
  await pipe(stage, 'Hi', 'nat')
  await stage.run('nat', '-p', 'Go')
  const [chat, other] = runsOf(stage.cwd)
  const complete = async (...words: string[]) =>
    (await stage.run('completions', 'fish', '--', ...words)).stdout
  expect(await complete('chat', '')).toContain('nat\tanthropic/claude-sonnet-5-5')
  const ids = await complete('chat', '--resume', '')
  expect(ids).toContain(chat!)
  expect(ids).not.toContain(other!)
})
