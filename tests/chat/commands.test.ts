import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openChat, pipe } from '../support/chat.ts'
import { asked, conversationOf, openNative } from '../support/native.ts'
import { problemsOf, tasksOf } from '../support/queue.ts'
import { fileIn } from '../support/until.ts'

// Commands in typed messages: prompt commands in every phase, and commands of the chat itself.

const call = (name: string, input: Record<string, unknown> = {}) => ({ name, input })
const READY = /\$0\.\d+\n\n>/

/** Sub-agents get fixed answers by prompt; the agent of the chat gets these turns in order. */
function crewAnd(...turns: readonly Record<string, unknown>[]) {
  return {
    conversations: [
      { when: { prompt: '^Count apples' }, turns: [{ text: '7 apples.' }] },
      { when: { prompt: '^Dig' }, turns: [{ tool: call('bash', { command: 'sleep 600' }) }] },
      { turns: [...turns] },
    ],
  }
}

test('files are read and tasks started before the answer, and later tasks are queued after it', async () => {
  await using stage = await openNative(crewAnd({ text: 'Good.' }, { text: 'Later.' }), {
    files: { 'design.md': 'Blue.' },
  })
  await using chat = openChat(stage)
  await chat.shows('/help')
  const prompt = [
    '/read design.md',
    '/push name=apples "Count apples"',
    '/run',
    'Is it good?',
    '/push name=after "Count apples again"',
  ]
  chat.type(`${prompt.join('\\\r')}\r`)
  await chat.shows('Queued: after')
  await chat.shows('Task apples: done')
  const said = asked(stage).find(({ messages }) => JSON.stringify(messages).includes('Is it good'))!
  expect(said.messages.map(({ content }) => content[0])).toMatchObject([
    { type: 'text' },
    { type: 'tool_use', name: 'read', input: { path: 'design.md' } },
    { type: 'tool_result', content: '1\tBlue.' },
  ])
  expect(said.messages[2]?.content[1]).toMatchObject({ type: 'text', text: 'Is it good?' })
  expect(chat.text).toContain('Queued: apples\nStarted: apples\n')
  chat.type('/queue\r')
  await chat.shows('1 queued, 0 ready, 0 running, 1 ended')
  chat.type('/inbox\r')
  await chat.shows(/apples +result/)
  chat.type('/check\r')
  await chat.shows('[apples: done]\n7 apples.')
  chat.type('/check\r')
  await chat.shows('The inbox is empty.')
  chat.type('/quit\r')
  expect(await chat.exited).toBe(0)
  await chat.shows('Left in the queue: after')
  expect(await problemsOf(stage.cwd)).toEqual([])
})

test('a message with only commands does not call the model, and its files go with the next message', async () => {
  await using stage = await openNative(crewAnd({ text: 'Blue.' }), {
    files: { 'design.md': 'Blue.' },
  })
  const { code, stdout } = await pipe(
    stage,
    '/read design.md\n/push name=one "Count apples"\n/push name=two "Count apples"\n/run 1\n/receive\nWhich colour?\n',
    'nat',
    '--lines',
  )
  expect(code).toBe(0)
  expect(stdout).toBe('[one: done]\n7 apples.\nBlue.\n')
  const own = asked(stage).filter(({ messages }) => JSON.stringify(messages).includes('colour'))
  expect(own).toHaveLength(1)
  expect(own[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(JSON.stringify(own[0]?.messages)).toContain('1\\tBlue.')
  expect((await tasksOf(stage.cwd)).map(({ name, state }) => [name, state])).toEqual([
    ['one', 'ended'],
    ['two', 'queued'],
  ])
})

test.each([
  ['/push name=x "never closed\nGo.', 'The quote'],
  ['/push name=x "Do it"\n/queue\nGo.', 'the prompt:2:1'],
  ['/push retry=many "Do it"\nGo.', 'the prompt:1:'],
  ['Go.\n/read x', 'the prompt:2:1'],
])('%j is refused as a whole, with line and column', async (text, words) => {
  await using stage = await openNative(crewAnd({ text: 'Never.' }))
  const { code, stderr } = await pipe(stage, text, 'nat')
  expect(code).toBe(2)
  expect(stderr).toContain(words)
  expect(asked(stage)).toEqual([])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type(`\u001b[200~${text}\u001b[201~\r`)
  await chat.shows(words)
  chat.type('/queue\r')
  await chat.shows('The queue is empty.')
  expect(asked(stage)).toEqual([])
})

test.each([
  ['/push name=x agent=nobody "Do it"', "the prompt:2, task 'x'  Agent not found: nobody"],
  ['/push name=x model=nosuch/model "Do it"', "Unknown provider for model 'nosuch/model'"],
])('%j is refused before anything takes effect', async (command, words) => {
  await using stage = await openNative(crewAnd({ text: 'Never.' }))
  const { code, stderr } = await pipe(stage, `/push name=y "Count"\n${command}\n/run\nGo.`, 'nat')
  expect(code).toBe(2)
  expect(stderr).toContain(words)
  expect(existsSync(join(stage.cwd, 'forge/orch/runs'))).toBe(false)
  const inside = await pipe(stage, `/push name=o "Go\\n/push agent=nobody \\"x\\""\nGo.`, 'nat')
  expect(`${inside.code} ${inside.stderr}`).toMatch(/^2 [^]*Agent not found: nobody/)
  const text = `/push name=y "Count"\n${command}`
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type(`\u001b[200~${text}\u001b[201~\r`)
  await chat.shows(words.split(',')[0]!)
  chat.type('/queue\r')
  await chat.shows('The queue is empty.')
  expect(asked(stage)).toEqual([])
})

test('a refused message to an earlier chat leaves it as it was', async () => {
  await using stage = await openNative([{ text: 'One.' }, { text: 'Two.' }])
  await pipe(stage, 'Hi', 'nat')
  const { code, stderr } = await pipe(stage, '/push agent=nobody "x"', '--resume')
  expect(`${code} ${stderr}`).toMatch(/^2 [^]*Agent not found: nobody/)
  expect((await stage.run('chat', '--list')).stdout).toContain('complete')
  expect(await pipe(stage, 'Again', '--resume')).toMatchObject({ code: 0, stdout: 'Two.\n' })
})

test.each([
  ['//read x', '/read x'],
  ['//quit', '/quit'],
  ['//exit', '/exit'],
  ['//queue', '/queue'],
  ['/review all', '/review all'],
  ['/usr/bin is a folder', '/usr/bin is a folder'],
  ['see /read', 'see /read'],
  // oxlint-disable-next-line no-template-curly-in-string
  ['${HOME} $${X}', '${HOME} $${X}'],
])('%j is sent as %j', async (typed, said) => {
  await using stage = await openNative([{ text: 'Yes.' }])
  expect(await pipe(stage, typed, 'nat')).toMatchObject({ code: 0, stdout: 'Yes.\n' })
  expect(conversationOf(stage.cwd)[1]).toMatchObject({ type: 'user', text: said })
})

test.each([
  ['/check many', 'what you typed:1:8'],
  ['/check form=a', "Unknown option 'form'."],
  ['/send', 'The name of an agent is missing.'],
  ['/send nobody Hello', 'nobody'],
  ['/cancel nothing', 'nothing'],
  ['/receive timeout=soon', 'timeout'],
])('%j reports its mistake, and the chat continues', async (typed, words) => {
  await using stage = await openNative([{ text: 'Yes.' }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('/push name=one "Count"\r')
  await chat.shows('Queued: one')
  chat.type(`${typed}\r`)
  await chat.until(() => chat.text.split(typed)[1]?.includes(words) === true)
  chat.type('Still there?\r')
  await chat.shows('Yes.')
})

test('sub-agents run while the user is idle, and can be sent messages and cancelled', async () => {
  await using stage = await openNative(crewAnd({ text: 'Good.' }))
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('/push name=dig "Dig"\\\r/run\r')
  await chat.shows('Task dig: started (nat, for main)')
  await chat.shows('1 running in the queue')
  chat.type('/send dig Faster\r')
  await chat.shows('Sent to dig.')
  chat.type('/receive\r')
  await chat.shows('waiting; Ctrl-C to stop')
  chat.type('\u0003')
  await chat.shows('stopped')
  chat.type('/cancel dig\r')
  await chat.shows('Stopping: dig')
  await chat.shows(/Task dig: failed \(cancelled/)
  chat.type('Good?\r')
  await chat.shows(READY)
  chat.type('\u0004')
  expect(await chat.exited).toBe(0)
})

test('Ctrl-C ends a waiting command, even if another command was typed meanwhile', async () => {
  await using stage = await openNative(crewAnd({ text: 'Good.' }))
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('/push name=dig "Dig"\\\r/run\r')
  await chat.shows('1 running in the queue')
  chat.type('/receive\r')
  await chat.shows('waiting; Ctrl-C to stop')
  chat.type('/queue\r')
  await chat.shows('0 queued, 0 ready, 1 running')
  await chat.shows('waiting; Ctrl-C to stop')
  chat.type('\u0003')
  await chat.shows('stopped')
  chat.type('/cancel dig\r')
  await chat.shows(/Task dig: failed \(cancelled/)
  chat.type('\u0004')
  expect(await chat.exited).toBe(0)
})

test('with --raw-prompt everything is sent as typed, on a terminal and from a pipe', async () => {
  await using stage = await openNative([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
  await using chat = openChat(stage, { args: ['nat', '--raw-prompt'] })
  await chat.shows('/help')
  chat.type('/queue\r')
  await chat.shows('One.')
  chat.type('//help\r')
  await chat.shows('Two.')
  chat.type('\u0004')
  await chat.exited
  await pipe(stage, '/queue', 'nat', '--raw-prompt')
  const texts = asked(stage).map(({ messages }) => messages.at(-1)?.content[0]?.['text'])
  expect(texts).toEqual(['/queue', '//help', '/queue'])
})

test('/quit ends a chat with --lines, and later lines are not sent', async () => {
  await using stage = await openNative([{ text: 'One.' }, { text: 'Two.' }])
  const { code, stdout } = await pipe(stage, 'a\n/quit\nb\n', 'nat', '--lines')
  expect(`${code} ${stdout}`).toBe('0 One.\n')
})

test.each(['/exit', '/bye', 'exit', 'quit'])(
  '%s ends a chat without calling the model',
  async (word) => {
    await using stage = await openNative([{ text: 'Never.' }])
    expect(await pipe(stage, word, 'nat')).toMatchObject({ code: 0, stdout: '' })
    await using chat = openChat(stage)
    await chat.shows('/help')
    chat.type(`${word}\r`)
    expect(await chat.exited).toBe(0)
    expect(asked(stage)).toEqual([])
  },
)

test.each(['/exit now', '/quit please', '/bye bye'])(
  '%s is refused without calling the model',
  async (words) => {
    await using stage = await openNative([{ text: 'Never.' }])
    await using chat = openChat(stage)
    await chat.shows('/help')
    chat.type(`${words}\r`)
    await chat.shows('Too many arguments.')
    chat.type('\u0004')
    expect(await chat.exited).toBe(0)
    expect(asked(stage)).toEqual([])
  },
)

test('on a terminal, an unknown command is not sent, and the hint says how to send it as text', async () => {
  await using stage = await openNative([{ text: 'Cleared.' }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('/raed x\r')
  await chat.shows("'/raed' is not a command (did you mean '/read'?)")
  chat.type('/clear\r')
  await chat.shows("'/clear' is not a command")
  await chat.shows('To send it as text: //clear')
  expect(asked(stage)).toEqual([])
  chat.type('//clear\r')
  await chat.shows('Cleared.')
  chat.type('\u0004')
  await chat.exited
})

test('quitting waits for running sub-agents, and Ctrl-C ends them', async () => {
  await using stage = await openNative(crewAnd({ text: 'Good.' }))
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('/push name=dig "Dig"\\\r/run\r')
  await chat.shows('1 running in the queue')
  chat.type('\u0004')
  await chat.shows('Ctrl-C stops them')
  chat.type('\u0003')
  expect(await chat.exited).toBe(130)
  await chat.shows('To continue')
  expect(chat.leftBehind()).toEqual([])
})

test.each([
  ['/raed x', "did you mean '/read'?"],
  ['/qeue', "did you mean '/queue'?"],
  ['/clear', "'/clear' is not a command and is sent as text"],
])('from a pipe, %j is sent as text with a warning', async (typed, words) => {
  await using stage = await openNative([{ text: 'Yes.' }])
  expect((await pipe(stage, typed, 'nat')).stderr).toContain(words)
  expect(conversationOf(stage.cwd)[1]).toMatchObject({ type: 'user', text: typed })
})

test('a task with a taken name after the answer does not stop the next tasks', async () => {
  await using stage = await openNative(crewAnd({ text: 'Good.' }))
  const said = '/push name=one "Count"\nGo.\n/push name=one "Count"\n/push name=two "Count"\n'
  const { code, stdout, stderr } = await pipe(stage, said, 'nat')
  expect(`${code} ${stdout}`).toBe('1 Good.\n')
  expect(stderr).toContain('Queued: two')
  expect(stderr).toContain("A task named 'one' has not ended yet.")
  expect((await tasksOf(stage.cwd)).map(({ name }) => name)).toEqual(['one', 'two'])
})

test('sub-agents started by the agent are shown while they work', async () => {
  await using stage = await openNative(
    crewAnd(
      {
        tools: [
          call('push', { name: 'apples', prompt: 'Count apples' }),
          call('run'),
          call('receive', { from: ['apples'] }),
        ],
      },
      { text: 'There are 7.' },
    ),
  )
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('How many?\r')
  await chat.shows(/There are 7\.\n.*\$0\.\d+\n\n>/)
  expect(chat.text).toMatch(/\[push\][^]*\[run\][^]*Task apples: started[^]*Task apples: done/)
  chat.type('/check\r')
  await chat.shows('The inbox is empty.')
  expect(await problemsOf(stage.cwd)).toEqual([])
})

test('a task that was running when its chat was killed is retried after a resume', async () => {
  await using stage = await openNative({
    conversations: [
      {
        when: { prompt: '^Dig' },
        turns: [{ tool: call('bash', { command: 'touch begun; sleep 600' }) }, { text: 'Dug.' }],
      },
      { turns: [{ text: 'Yes.' }] },
    ],
  })
  await using chat = openChat(stage)
  await chat.shows('/help')
  chat.type('/push name=dig retry=1 "Dig"\\\r/run\r')
  await fileIn(stage.cwd, 'begun')
  chat.signal('SIGKILL')
  await chat.exited
  await using again = openChat(stage, { args: ['--resume', '--kill-orphans'] })
  await again.shows(/Task dig: failed \(lost.*will retry/)
  await again.shows('Task dig: started (nat, for main, attempt 2)')
  await again.shows('Task dig: done')
  again.type('\u0004')
  expect(await again.exited).toBe(0)
})
