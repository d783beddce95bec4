import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asked, openNative, untilWaiting } from '../support/native.ts'
import { problemsOf, tasksOf } from '../support/queue.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'
import { fileIn } from '../support/until.ts'

// Queue and inbox as tools of the built-in agent, with sub-agents that are also built-in agents.

const call = (name: string, input: Record<string, unknown> = {}) => ({ name, input })
const QUEUE_TOOLS = ['push', 'run', 'receive', 'check', 'send', 'queue', 'inbox', 'cancel']

/** What the tools have answered to an agent, in order, as JSON or as they are. */
function answersTo(stage: Parameters<typeof asked>[0], prompt: string): unknown[] {
  const last = asked(stage).findLast(({ messages }) => JSON.stringify(messages).includes(prompt))
  const parts = last!.messages.flatMap(({ content }) => content)
  return parts
    .filter(({ type }) => type === 'tool_result')
    .map(({ content, is_error: isError }) =>
      isError === true ? `error: ${String(content)}` : JSON.parse(String(content)),
    )
}

test('an agent queues tasks, starts them and gets their results with eight tools', async () => {
  await using stage = await openNative({
    conversations: [
      { when: { prompt: '^Count apples' }, turns: [{ text: '7 apples.' }] },
      {
        when: { prompt: '^Count pears' },
        turns: [{ tool: call('send', { to: 'main', message: 'I begin.' }) }, { text: '3 pears.' }],
      },
      {
        when: { prompt: '^Lead' },
        turns: [
          {
            tools: [
              call('push', { name: 'apples', prompt: 'Count apples' }),
              call('push', { name: 'pears', prompt: 'Count pears' }),
              call('push', { name: 'plums', prompt: 'Count plums' }),
              call('cancel', { name: 'plums' }),
              call('queue'),
              call('run'),
            ],
          },
          { tools: [call('receive', { from: ['apples', 'pears'] }), call('inbox'), call('check')] },
          { text: '10 in all.' },
        ],
      },
    ],
  })
  const { code, stdout, stderr } = await stage.run('nat', '-p', 'Lead them.')
  expect(`${code} ${stderr}`).toBe('0 ')
  expect(stdout).toContain('10 in all.')
  const [apples, , , cancelled, queue, started, received] = answersTo(stage, 'Lead') as object[]
  expect(apples).toEqual({ name: 'apples' })
  expect(cancelled).toMatchObject({ ended: ['plums'] })
  expect(queue).toMatchObject({ run: { queued: 2 } })
  expect(started).toMatchObject({ started: ['apples', 'pears'] })
  expect(received).toMatchObject({ status: 'received' })
  expect(JSON.stringify(received)).toContain('7 apples.')
  expect(await problemsOf(stage.cwd)).toEqual([])
})

test('wrong input of a model is answered with the problem', async () => {
  await using stage = await openNative([
    {
      tools: [
        call('push', { prompt: '' }),
        call('push', { promt: 'x' }),
        call('send', { to: 'x', message: 'y' }),
      ],
    },
    { text: 'Well.' },
  ])
  expect((await stage.run('nat', '-p', 'Lead.')).code).toBe(0)
  expect(answersTo(stage, 'Lead')).toEqual([
    'error: The prompt of the task is empty.',
    expect.stringContaining('error: '),
    expect.stringContaining('error: '),
  ])
})

test('null counts as absent', async () => {
  await using stage = await openNative([
    {
      tools: [
        call('push', { prompt: 'Do it', name: 'one', agent: null, timeout: null, retry: null }),
        call('check', { from: null, lifo: null, max: null }),
      ],
    },
    { text: 'Well.' },
  ])
  await stage.run('nat', '-p', 'Lead.')
  expect(answersTo(stage, 'Lead')).toEqual([{ name: 'one' }, { messages: [] }])
})

test.each<[string, Record<string, unknown>, readonly string[]]>([
  ['by itself', {}, QUEUE_TOOLS],
  ['not where it only reads', { allowedTools: ['Read', 'Grep', 'Glob'] }, []],
  ['not where the configuration says no', { queue: false }, []],
  [
    'as far as its list names them',
    { allowedTools: ['read', 'push', 'mcp__forkhestra__run'] },
    ['push', 'run'],
  ],
  [
    'but for those that are shut',
    { disallowedTools: ['cancel', 'send'] },
    QUEUE_TOOLS.filter((name) => name !== 'cancel' && name !== 'send'),
  ],
])('an agent gets the queue tools %s', async (_, agent, tools) => {
  await using stage = await openNative([{ text: 'Fine.' }], { agent })
  await stage.run('nat', '-p', 'Go')
  const names = asked(stage)[0]?.tools?.map(({ name }) => name) ?? []
  expect(names.filter((name) => QUEUE_TOOLS.includes(name))).toEqual([...tools])
})

test('sub-agents have their own agent, model and rights, limited by their parent', async () => {
  const agents = {
    nat: { engine: 'native', model: 'sonnet', disallowedTools: ['write'] },
    helper: { engine: 'native', model: 'opus', systemPromptText: 'You help.' },
  }
  await using stage = await openNative(
    {
      conversations: [
        { when: { prompt: '^Help' }, turns: [{ text: 'Helped.' }] },
        {
          when: { prompt: '^Lead' },
          turns: [
            {
              tools: [
                call('push', { name: 'one', agent: 'helper', prompt: 'Help one' }),
                call('run'),
                call('receive', { from: ['one'] }),
              ],
            },
            { text: 'Led.' },
          ],
        },
      ],
    },
    { configuration: { agents } },
  )
  expect((await stage.run('nat', '-p', 'Lead.')).code).toBe(0)
  const helper = stage.model.requests.find(({ body }) => JSON.stringify(body).includes('You help.'))
  expect(helper?.body).toMatchObject({ model: 'claude-opus-5-5' })
  const { tools } = helper!.body as { tools: { name: string }[] }
  expect(tools.map(({ name }) => name)).not.toContain('write')
  expect(tools.map(({ name }) => name)).toContain('bash')
})

test('a sub-agent whose forkhestra dies is lost, and its retry starts with an empty context', async () => {
  const file = 'began'
  await using stage = await openNative(
    {
      conversations: [
        {
          when: { prompt: '^Dig' },
          turns: [
            { tool: call('bash', { command: `touch ${file}; sleep 600` }) },
            { text: 'Dug.' },
          ],
        },
        {
          when: { prompt: '^Wait' },
          turns: [{ tool: call('receive') }, { tool: call('receive') }, { text: 'Good.' }],
        },
      ],
    },
    { files: { 'prompt.md': '/push name=dig retry=1 "Dig"\n/run\nWait for it.' } },
  )
  const running = stage.start('nat', '--prompt-file', 'prompt.md')
  await fileIn(stage.cwd, file)
  running.signal('SIGKILL')
  await running.finished
  const { code } = await stage.run('resume', '--kill-orphans')
  expect(code).toBe(0)
  expect(
    (await tasksOf(stage.cwd)).map(({ name, attempt, end }) => [name, attempt, end?.success]),
  ).toEqual([['dig', 2, true]])
  const digs = asked(stage).filter(({ messages }) => JSON.stringify(messages[0]).includes('Dig'))
  expect(digs.map(({ messages }) => messages.length)).toEqual([1, 1])
  const [run] = runsOf(stage.cwd)
  const ended = ofType(journalOf(stage.cwd, run!), 'iteration_ended')
  expect(ended.at(-1)?.outcome).toEqual({ kind: 'exited', code: 0 })
  expect(await problemsOf(stage.cwd)).toEqual([])
})

test('a sub-agent that is cancelled ends with its command', async () => {
  await using stage = await openNative({
    conversations: [
      {
        when: { prompt: '^Sleep' },
        turns: [{ tool: call('bash', { command: 'touch began; sleep 600' }) }],
      },
      {
        when: { prompt: '^Lead' },
        turns: [
          { tools: [call('push', { name: 'slow', prompt: 'Sleep' }), call('run')] },
          { tool: call('bash', { command: 'until [ -e began ]; do sleep 0.05; done' }) },
          { tools: [call('cancel', { name: 'slow' }), call('receive', { from: ['slow'] })] },
          { text: 'Stopped.' },
        ],
      },
    ],
  })
  expect((await stage.run('nat', '-p', 'Lead.')).code).toBe(0)
  const received = JSON.stringify(asked(stage).at(-1)?.messages.at(-1))
  expect(received).toContain('cancelled')
  expect(await problemsOf(stage.cwd)).toEqual([])
})

test('agents of one process that wait for each other get an error', async () => {
  await using stage = await openNative({
    conversations: [
      {
        when: { prompt: '^Wait' },
        turns: [{ tool: call('receive', { from: ['main'] }) }, { text: 'In vain.' }],
      },
      {
        when: { prompt: '^Lead' },
        turns: [
          { tools: [call('push', { name: 'other', prompt: 'Wait' }), call('run')] },
          { tool: call('receive', { from: ['other'] }) },
          { text: 'So it is.' },
        ],
      },
    ],
  })
  expect((await stage.run('nat', '-p', 'Lead.')).code).toBe(0)
  const answers = asked(stage).map(({ messages }) => JSON.stringify(messages.at(-1)))
  expect(answers.filter((text) => text.includes('deadlock'))).not.toEqual([])
})

test('a sub-agent continues after a limit and repeats nothing', async () => {
  const limit = { error: { status: 429, headers: { 'retry-after': '61' } } }
  await using stage = await openNative(
    {
      conversations: [
        {
          when: { prompt: '^Dig' },
          turns: [
            { text: 'I dig.', tool: call('bash', { command: 'echo 1 >>work' }) },
            limit,
            { text: 'Dug.' },
          ],
        },
        { when: { prompt: '^Wait' }, turns: [{ tool: call('receive') }, { text: 'Good.' }] },
      ],
    },
    { files: { 'prompt.md': '/push name=dig "Dig"\n/run\nWait for it.' } },
  )
  const running = stage.start('nat', '--prompt-file', 'prompt.md')
  const run = await untilWaiting(stage.cwd)
  expect((await stage.run('retry-now', run)).code).toBe(0)
  expect(await running.finished).toMatchObject({ code: 0 })
  const digs = asked(stage).filter(({ messages }) => JSON.stringify(messages[0]).includes('Dig'))
  expect(digs.map(({ messages }) => messages.length)).toEqual([1, 3, 3])
  expect(readFileSync(join(stage.cwd, 'work'), 'utf8')).toBe('1\n')
  const costs = ofType(journalOf(stage.cwd, run), 'task_ended').map(({ usage }) => usage?.tokens)
  expect(costs.map((tokens) => tokens?.input ?? 0)).toEqual([100, 100])
  expect(await problemsOf(stage.cwd)).toEqual([])
})

test('a sub-agent with its own agent knows its name and its parent', async () => {
  const agents = {
    nat: { engine: 'native', model: 'sonnet' },
    helper: { engine: 'native', model: 'sonnet', systemPromptText: 'You help.' },
  }
  await using stage = await openNative(
    {
      conversations: [
        { when: { prompt: '^Help' }, turns: [{ text: 'Helped.' }] },
        { when: { prompt: '^Wait' }, turns: [{ tool: call('receive') }, { text: 'Good.' }] },
      ],
    },
    {
      configuration: { agents },
      files: { 'prompt.md': '/push name=hand agent=helper "Help"\n/run\nWait for it.' },
    },
  )
  expect((await stage.run('nat', '--prompt-file', 'prompt.md')).code).toBe(0)
  const helper = asked(stage).find(({ system }) => JSON.stringify(system).includes('You help.'))
  expect(JSON.stringify(helper?.system)).toContain(
    'Your name in this run is hand. main gave you this task',
  )
})

test('sub-agents get the queue tools that the list of their parent names', async () => {
  const allowedTools = ['read', 'grep', 'push', 'run', 'receive']
  await using stage = await openNative(
    {
      conversations: [
        { when: { prompt: '^Help' }, turns: [{ text: 'Helped.' }] },
        { when: { prompt: '^Wait' }, turns: [{ tool: call('receive') }, { text: 'Good.' }] },
      ],
    },
    {
      agent: { allowedTools },
      files: { 'prompt.md': '/push name=hand "Help"\n/run\nWait for it.' },
    },
  )
  expect((await stage.run('nat', '--prompt-file', 'prompt.md')).code).toBe(0)
  const helper = asked(stage).find(({ messages }) => JSON.stringify(messages[0]).includes('Help'))
  expect(helper?.tools?.map(({ name }) => name)).toEqual(['read', 'grep', 'push', 'run', 'receive'])
})

test('parallel agents share a token budget', async () => {
  const work = { tool: call('bash', { command: 'true' }), usage: { input: 900, output: 100 } }
  const turns = [...Array.from({ length: 12 }, () => work), { text: 'All.' }]
  const names = ['a', 'b', 'c']
  await using stage = await openNative(
    {
      conversations: [
        ...names.map((name) => ({ when: { prompt: `^Work ${name}` }, turns })),
        {
          when: { prompt: '^Wait' },
          turns: [{ tool: call('receive', { from: names }) }, { text: 'Good.' }],
        },
      ],
    },
    {
      files: {
        'prompt.md': `${names.map((name) => `/push name=${name} "Work ${name}"`).join('\n')}\n/run\nWait.`,
      },
    },
  )
  await stage.run('nat', '--prompt-file', 'prompt.md', '--max-tokens', '15000')
  const events = journalOf(stage.cwd, runsOf(stage.cwd)[0]!)
  const { input = 0, output = 0 } = ofType(events, 'run_ended')[0]?.spent?.tokens ?? {}
  expect(input + output).toBeLessThanOrEqual(15_000)
  expect(input + output).toBeGreaterThan(9000)
  const words = ofType(events, 'task_ended').map(({ error }) => error)
  expect(words).toEqual(names.map(() => expect.stringMatching(/of 15\.0k tokens/)))
})
