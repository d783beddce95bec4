import { expect, test } from 'bun:test'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openChat } from '../support/chat.ts'
import { FORKHESTRA } from '../support/forkhestra.ts'
import { asked, openNative } from '../support/native.ts'
import { Pty } from '../support/pty.ts'
import { until } from '../support/until.ts'

// A user types on a real terminal; a scripted model answers.

const bash = (command: string) => ({ tool: { name: 'bash', input: { command } } })
const PASTE = (text: string) => `\u001b[200~${text}\u001b[201~`
const READY = /\$0\.\d+\n\n>/

test('messages are answered, a tool call takes one line, and each turn ends with its cost', async () => {
  await using stage = await openNative([
    { text: 'Hello.\nWhat is it?' },
    { text: 'I look.', ...bash('echo 42') },
    { text: 'It is 42.' },
  ])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('Hi\r')
  await chat.shows(READY)
  chat.type('The answer?\r')
  await chat.shows(/It is 42\.\n\S.*240 tokens, \$0\.0008\n\n>/)
  expect(chat.text).toContain('> Hi\nHello.\nWhat is it?\n')
  expect(chat.text).toContain('> The answer?\nI look.\n[bash] echo 42\nIt is 42.\n')
  chat.type('\u0004')
  expect(await chat.exited).toBe(0)
  await chat.shows('To continue: forkhestra chat --resume 2')
  expect(chat.leftBehind()).toEqual([])
  expect(
    asked(stage)
      .at(-1)
      ?.messages.map(({ role }) => role),
  ).toEqual(['user', 'assistant', 'user', 'assistant', 'user'])
})

test('an answer is streamed, and Ctrl-C keeps the part that was received', async () => {
  const text = 'One two three four five six seven eight nine ten.'
  await using stage = await openNative([
    { text: `${text} ${text}`, chunkDelayMs: 400 },
    { text: 'Fine.' },
  ])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('Count\r')
  await chat.shows('One')
  chat.type('\u0003')
  await chat.shows('Stopped.')
  expect(chat.text).not.toContain('ten.')
  chat.type('Go on\r')
  await chat.shows('Fine.')
  const [said, heard, next] = asked(stage)
    .at(-1)!
    .messages.map(({ content }) => content[0])
  expect(said).toMatchObject({ text: 'Count' })
  expect(text.startsWith(String(heard?.['text']))).toBe(true)
  expect(next).toMatchObject({ text: 'Go on' })
})

test('a stopped answer counts towards the budget', async () => {
  const text = 'One two three four five six seven eight nine ten.'
  await using stage = await openNative([{ text: `${text} ${text}`, chunkDelayMs: 400 }])
  await using chat = openChat(stage, { args: ['nat', '--max-cost', '0.1'] })
  await chat.shows('/help')
  chat.type(`${PASTE('some words '.repeat(20_000))}\r`)
  await chat.shows('One two')
  chat.type('\u0003')
  await chat.shows(/Stopped\.[^]*, about 5\d(?:\.\d)?k tokens, \$0\.1/)
  chat.type('Go on\r')
  await chat.shows('The budget of this chat is used up')
  expect(asked(stage)).toHaveLength(1)
})

test('Ctrl-C during a tool call ends its processes, and the call gets an error result', async () => {
  await using stage = await openNative([
    bash('echo $$ >pid; echo begun; sleep 600'),
    { text: 'What now?' },
  ])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('Work\r')
  await chat.shows('[bash]')
  await until(() => pidIn(stage.cwd) > 0)
  chat.type('\u0003')
  await chat.shows('Stopped.')
  expect(isAlive(pidIn(stage.cwd))).toBe(false)
  chat.type('Why?\r')
  await chat.shows('What now?')
  const [, call, result] = asked(stage).at(-1)!.messages
  expect(call?.content.at(-1)).toMatchObject({ type: 'tool_use', name: 'bash' })
  expect(result?.content[0]).toMatchObject({
    type: 'tool_result',
    is_error: true,
    content: expect.stringContaining('begun'),
  })
})

function pidIn(cwd: string): number {
  try {
    return Number(readFileSync(join(cwd, 'pid'), 'utf8'))
  } catch {
    return 0
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a backslash, Alt-Enter or a paste puts several lines into one message', async () => {
  await using stage = await openNative([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('a\\\rb\r')
  await chat.shows('One.')
  chat.type('c\u001b\rd\r')
  await chat.shows('Two.')
  chat.type(`${PASTE('e\r\nf\n\tg')}\r`)
  await chat.shows('Three.')
  const texts = asked(stage).map(({ messages }) => messages.at(-1)?.content[0]?.['text'])
  expect(texts).toEqual(['a\nb', 'c\nd', 'e\nf\n\tg'])
})

test('the input history is kept for the next chat, readable only by its user and without secrets', async () => {
  const key = 'sk-ant-secret-0123456789abcdef'
  const env = { ANTHROPIC_API_KEY: key }
  await using stage = await openNative([{ text: 'One.' }, { text: 'Two.' }])
  await using first = openChat(stage, { env })
  await first.shows('/help')
  first.type(`Is it ${key}?\r`)
  await first.shows('One.')
  first.type('\u0004')
  await first.exited
  const path = join(stage.cwd, '.state/forkhestra/chat-history')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readFileSync(path, 'utf8')).toBe('"Is it [masked ANTHROPIC_API_KEY]?"\n')
  await using second = openChat(stage, { env })
  await second.shows('/help')
  second.type('draft\u001b[A')
  await second.shows('> Is it [masked')
  second.type('\u001b[B')
  await second.shows(/> draft$/m)
  second.type('\u0001\u000bhi wurld\u001b[D\u001b[D\u001b[D\u007fo\r')
  await second.shows('> hi world\nTwo.')
})

test('Ctrl-C clears the line, and pressed twice at an empty prompt ends the chat', async () => {
  await using stage = await openNative([{ text: 'One.' }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('some words')
  await chat.shows('some words')
  chat.type('\u0003')
  await chat.until(() => !chat.text.includes('some words'))
  chat.type('\u0003')
  await chat.shows('press Ctrl-C again, or Ctrl-D, to leave')
  chat.type('\u0003')
  expect(await chat.exited).toBe(0)
  await chat.shows('To continue')
  expect(chat.leftBehind()).toEqual([])
})

test('text wraps on a narrow terminal and after a resize', async () => {
  const words = 'alpha beta gamma delta epsilon zeta eta theta iota kappa'
  await using stage = await openNative([{ text: words }, { text: '漢字 two.' }])
  await using chat = openChat(stage, { columns: 20, rows: 12 })
  await chat.shows('>')
  chat.type('A message that is longer than the row\r')
  await chat.shows(/\ndelta epsilon zeta\neta theta iota\nkappa\n[^]*>$/m)
  expect(chat.lines.every((line) => Bun.stringWidth(line) <= 20)).toBe(true)
  chat.type('typed while it is being made small')
  await chat.shows('made small')
  chat.resize(12, 12)
  await chat.until(() => chat.text.replaceAll(/\s/g, '').includes('madesmall'))
  chat.resize(60, 12)
  await chat.shows('> typed while it is being made small')
  chat.type('!\r')
  await chat.shows('漢字 two.')
  expect(chat.text).toContain('> typed while it is being made small!\n')
})

test('NO_COLOR turns colours off', async () => {
  await using stage = await openNative([{ text: 'I look.', ...bash('false') }, { text: 'Well.' }])
  await using chat = openChat(stage, { env: { NO_COLOR: '1' } })
  await chat.shows('/help')
  chat.type('Go\r')
  await chat.shows(READY)
  // oxlint-disable-next-line no-control-regex
  expect(chat.output).not.toMatch(/\u001b\[3[0-7]m/)
})

test('an edit is shown as a short diff', async () => {
  const input = { path: 'poem.txt', content: 'roses\nviolets\n' }
  await using stage = await openNative([{ tool: { name: 'write', input } }, { text: 'Written.' }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('Write\r')
  await chat.shows(READY)
  expect(chat.text).toContain('[write] poem.txt\n  1 + roses\n  2 + violets\nWritten.\n')
})

test('a message typed during a turn is sent after it, or returns to the prompt if the turn is stopped', async () => {
  await using stage = await openNative([
    bash('touch begun; while [ ! -e go ]; do sleep 0.02; done'),
    { text: 'One.' },
    { text: 'Two.' },
    bash('sleep 600'),
    { text: 'Never.' },
  ])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('First\r')
  await chat.shows('[bash]')
  chat.type('Second\r')
  await chat.shows('1 more to send')
  await Bun.write(join(stage.cwd, 'go'), '')
  await chat.shows('Two.')
  chat.type('Third\r')
  await chat.shows('[bash] sleep 600')
  chat.type('Fourth\r')
  await chat.shows('1 more to send')
  chat.type('\u0003')
  await chat.shows(/Stopped\.[^]*\n> Fourth$/m)
  expect(asked(stage)).toHaveLength(4)
})

test('a message typed during an answer does not split it, and is shown before its own answer', async () => {
  await using stage = await openNative([
    { text: 'Unbelievably extraordinary words.', chunkDelayMs: 150 },
    { text: 'Two.' },
  ])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('First\r')
  await chat.shows('Unb')
  chat.type('Second\r')
  await chat.shows('Two.')
  expect(chat.text).toMatch(/\nUnbelievably extraordinary words\.\n.*\n\n> Second\nTwo\./)
})

test('Ctrl-D during a turn ends the chat after it', async () => {
  await using stage = await openNative([
    bash('while [ ! -e go ]; do sleep 0.02; done'),
    { text: 'One.' },
  ])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('First\r')
  await chat.shows('[bash]')
  chat.type('\u0004')
  await chat.shows('then the chat ends')
  await Bun.write(join(stage.cwd, 'go'), '')
  expect(await chat.exited).toBe(0)
  await chat.shows(/One\.[^]*To continue/)
})

test('a dumb terminal explains how to end the input', async () => {
  await using stage = await openNative([{ text: 'One.' }])
  await using chat = openChat(stage, { env: { TERM: 'dumb' } })
  await chat.shows('Everything you type is one turn; Ctrl-D')
  chat.type('Hi\n\u0004')
  await chat.shows('One.')
  expect(await chat.exited).toBe(0)
})

test('a signal ends the chat and restores the terminal', async () => {
  await using stage = await openNative([{ text: 'One.', delayMs: 600_000 }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('Go\r')
  await chat.shows('Ctrl-C stops the turn')
  chat.signal('SIGTERM')
  expect(await chat.exited).toBe(143)
  await chat.shows('To continue')
  expect(chat.leftBehind()).toEqual([])
  await using gone = openChat(stage)
  await gone.shows('/help')
  gone.type('Go\r')
  await gone.shows('Ctrl-C stops the turn')
  gone.hangUp()
  expect(await gone.exited).toBe(129)
  const { stdout } = await stage.run('chat', '--list')
  expect(stdout.match(/ stopped /g)).toHaveLength(2)
})

test('the chat survives Ctrl-Z without a shell, and a long paste', async () => {
  await using stage = await openNative([{ text: 'One.' }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('\u001a')
  // No shell could continue it here, so it continues by itself.
  await chat.until(() => chat.output.split('\u001b[?2004h').length === 3)
  const long = 'some words and more\n'.repeat(10_000)
  chat.type(`\u001b[200~${long}\u001b[201~`)
  await chat.until(() => chat.lines.filter((line) => line.includes('and more')).length > 10)
  chat.type('The end.\r')
  await chat.shows('One.')
  expect(asked(stage)[0]?.messages[0]?.content[0]?.['text']).toBe(`${long}The end.`)
})

test.each(['SIGSTOP', 'SIGTSTP'] as const)(
  'after %s and fg the chat has the terminal again',
  async (signal) => {
    await using stage = await openNative([{ text: 'One.' }])
    const { cwd, model } = stage
    await using shell = new Pty(['sh', '-im'], { cwd, env: { ...model.env, PS1: 'prompt> ' } })
    await shell.shows('prompt>')
    shell.type(`sh -c 'echo $$ >pid; exec "${FORKHESTRA}" chat nat'\n`)
    await shell.shows('/help for help')
    process.kill(pidIn(cwd), signal)
    await shell.shows(/^prompt>$/m)
    const marks = (letter: string) => shell.output.split(`\u001b[?2004${letter}`).length - 1
    if (signal === 'SIGTSTP') expect(marks('h')).toBe(marks('l'))
    shell.type('clear; fg\n')
    await shell.until(() => marks('h') === 2)
    shell.type('Ho\u0002\u0004i\r')
    await shell.shows('> Hi\nOne.')
    shell.type('\u0004')
    await shell.shows('To continue')
    shell.type('exit\n')
    await shell.exited
  },
)

test('stop ends a chat, and /quit ends it during a turn', async () => {
  await using stage = await openNative([{ text: 'One.', delayMs: 600_000 }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  expect((await stage.run('stop')).code).toBe(0)
  expect(await chat.exited).toBe(0)
  await using other = openChat(stage)
  await other.shows('/help')
  other.type('Hi\r')
  await other.shows('Ctrl-C stops the turn')
  other.type('/quit\r')
  expect(await other.exited).toBe(0)
})
