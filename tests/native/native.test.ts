import { expect, test } from 'bun:test'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { asked, conversationOf, openNative } from '../support/native.ts'
import { makeProject } from '../support/project.ts'
import { ofType } from '../support/record.ts'

// The built-in agent in a chain, against a scripted model: what it says, does, costs and leaves.

const bash = (command: string) => ({ tool: { name: 'bash', input: { command } } })
const DONE = { text: 'All is done.\n\nORCHESTRA_COMPLETE' }

test('it uses tools until the marker and reports actions and cost', async () => {
  await using stage = await openNative([{ text: 'I look.', ...bash('echo 42 >answer') }, DONE])
  const { code, stdout, stderr } = await stage.run('nat:3', '-p', 'Find the answer.')
  expect(`${code} ${stderr}`).toBe('0 ')
  expect(stdout).toContain('I look.\n[bash] echo 42 >answer\nAll is done.\n\nORCHESTRA_COMPLETE\n')
  expect(stdout).toContain('Complete after 1 iteration')
  expect(stdout).toMatch(/Spent: .*240 tokens, \$0\.0008/)
  expect(readFileSync(join(stage.cwd, 'answer'), 'utf8')).toBe('42\n')
})

test('every answer and result is stored and sent back unchanged', async () => {
  await using stage = await openNative([
    { thinking: 'Hm.', text: 'First.', ...bash('printf one') },
    bash('printf two; exit 3'),
    DONE,
  ])
  await stage.run('nat:1', '-p', 'Go.')
  const lines = conversationOf(stage.cwd)
  expect(lines.map(({ type }) => type)).toEqual([
    'begin',
    'user',
    'assistant',
    'result',
    'assistant',
    'result',
    'assistant',
    'end',
  ])
  const [first, second, third] = asked(stage)
  expect(withoutMarks(second!.messages.slice(0, 1))).toEqual(withoutMarks(first!.messages))
  const [, answer, results] = third!.messages
  expect(answer?.content.map(({ type }) => type)).toEqual(['thinking', 'text', 'tool_use'])
  expect(answer?.content[0]).toMatchObject({ thinking: 'Hm.', signature: expect.any(String) })
  expect(results?.content).toMatchObject([
    { type: 'tool_result', content: expect.stringMatching(/^one/) },
  ])
  expect(third?.messages.at(-1)?.content).toMatchObject([
    { type: 'tool_result', is_error: true, content: expect.stringContaining('exit code 3') },
  ])
  expect([first, second, third].map((body) => JSON.stringify(body?.tools))).toEqual(
    Array(3).fill(JSON.stringify(first?.tools)),
  )
  expect(third?.system).toEqual(first!.system)
})

function withoutMarks<Message extends { content: readonly Readonly<Record<string, unknown>>[] }>(
  messages: readonly Message[],
) {
  return messages.map((message) => ({
    ...message,
    content: message.content.map((part) => {
      const { cache_control: _mark, ...rest } = part
      return rest
    }),
  }))
}

test('the system prompt, the tools and the messages are marked for caching', async () => {
  await using stage = await openNative([bash('true'), DONE])
  await stage.run('nat:1', '-p', 'Go.')
  const ephemeral = { type: 'ephemeral' }
  for (const { system, tools, messages } of asked(stage)) {
    expect(system.at(-1)?.cache_control).toEqual(ephemeral)
    expect(tools?.filter((tool) => tool.cache_control !== undefined)).toEqual([
      expect.objectContaining({ name: tools?.at(-1)?.name, cache_control: ephemeral }),
    ])
    const marked = messages
      .flatMap(({ content }) => content)
      .filter((part) => part['cache_control'])
    // The end of this request, and that of the one before.
    const ends = messages.length === 1 ? [messages[0]!] : [messages.at(-3)!, messages.at(-1)!]
    expect(marked).toEqual(ends.map(({ content }) => content.at(-1)!))
  }
})

test('the system prompt has mode, agent, environment and project instructions', async () => {
  await using stage = await openNative([{ text: 'Yes.' }], {
    agent: { systemPromptText: 'You are a gardener.' },
    files: { 'AGENTS.md': 'Water the plants.' },
  })
  await stage.run('nat', '-p', 'Ready?')
  const [text] = asked(stage)[0]!.system.map((part) => part.text)
  expect(text).toStartWith('# How you are run')
  expect(text).toContain('You are a gardener.')
  expect(text).toContain(`Working directory: ${stage.cwd}\n`)
  expect(text).toEndWith('# AGENTS.md of the project\n\nWater the plants.')
})

test('without a key nothing starts', async () => {
  await using stage = await openNative([DONE])
  const { code, stderr } = await stage.run('nat', '-p', 'Go', '--dry-run')
  expect(`${code} ${stderr}`).toBe('0 ')
  await using bare = await openNative([DONE], { env: { ANTHROPIC_API_KEY: '' } })
  const refused = await bare.run('nat', '-p', 'Go')
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('ANTHROPIC_API_KEY is not set.')
  expect(existsSync(join(bare.cwd, 'forge/orch/runs'))).toBe(false)
  expect(bare.model.requests).toEqual([])
  // A dry run does not call the model.
  const dry = await bare.run('nat', '-p', 'Go', '--dry-run')
  expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining('ANTHROPIC_API_KEY is not')])
  expect(dry.stdout).toContain('1. nat - run once')
})

test('project instructions that are too long are named, not dropped silently', async () => {
  const files = { 'AGENTS.md': 'x'.repeat(70_000) }
  await using stage = await openNative([DONE], { files })
  await stage.run('nat', '-p', 'Go')
  expect(asked(stage)[0]?.system.at(-1)?.text).toContain(
    '# AGENTS.md of the project\n\nIt is not included here, because it is 68',
  )
})

test('project instructions that a repository links from outside are not sent', async () => {
  await using stage = await openNative([DONE, DONE])
  const secret = makeProject({ config: 'PRIVATE' })
  symlinkSync(join(secret, 'config'), join(stage.cwd, 'AGENTS.md'))
  const git = (...args: string[]) => Bun.spawnSync(['git', ...args], { cwd: stage.cwd })
  git('init', '-q')
  git('add', 'AGENTS.md')
  await stage.run('nat', '-p', 'Go')
  git('rm', '-q', '--cached', 'AGENTS.md')
  await stage.run('nat', '-p', 'Go')
  const [tracked, own] = asked(stage).map(({ system }) => system.at(-1)!.text)
  expect(tracked).not.toContain('PRIVATE')
  expect(tracked).toEndWith('It is not included here, because it is a link out of the project.')
  expect(own).toEndWith('# AGENTS.md of the project\n\nPRIVATE')
})

test('it ends after its last turn although it wants more', async () => {
  await using stage = await openNative([bash('true'), bash('touch too-late')], {
    agent: { maxTurns: 2 },
  })
  const events = await stage.events('nat', '-p', 'Go')
  expect(ofType(events, 'iteration_ended')[0]?.outcome).toMatchObject({ kind: 'max_turns' })
  expect(existsSync(join(stage.cwd, 'too-late'))).toBe(false)
})

test('tools that an agent does not have are neither offered nor called', async () => {
  await using stage = await openNative([bash('touch made'), { text: 'So be it.' }], {
    agent: { allowedTools: ['Read', 'Grep'] },
  })
  const events = await stage.events('nat', '-p', 'Go')
  expect(asked(stage)[0]?.tools?.map(({ name }) => name)).toEqual(['read', 'grep'])
  expect(ofType(events, 'tool_ended')[0]).toMatchObject({
    name: 'bash',
    error: "There is no tool 'bash'. Your tools: read, grep.",
  })
  expect(existsSync(join(stage.cwd, 'made'))).toBe(false)
})

test('a change by a tool is reported as a diff', async () => {
  const input = { path: 'poem.txt', content: 'roses\n' }
  await using stage = await openNative([{ tool: { name: 'write', input } }, DONE])
  const events = await stage.events('nat:1', '-p', 'Write.')
  expect(ofType(events, 'tool_ended')[0]?.diff).toContain('+roses')
  expect(JSON.stringify(asked(stage)[1]?.messages)).not.toContain('+roses')
})

test('keys do not appear in the record', async () => {
  const key = 'sk-ant-secret-0123456789abcdef'
  await using stage = await openNative([bash('echo $ANTHROPIC_API_KEY'), DONE], {
    env: { ANTHROPIC_API_KEY: key },
  })
  const { stdout } = await stage.run('nat:1', '-p', `Is it ${key}?`)
  expect(stdout).not.toContain(key)
  expect(JSON.stringify(conversationOf(stage.cwd))).toContain('[masked ANTHROPIC_API_KEY]')
  const found = Bun.spawnSync(['grep', '-rl', key, '.'], { cwd: stage.cwd }).stdout.toString()
  expect(found).toBe('')
  // The model gets what was really said.
  expect(JSON.stringify(asked(stage)[1]?.messages)).toContain(key)
})

test('a blocked agent stops the step with its reason', async () => {
  await using stage = await openNative([{ text: 'ORCHESTRA_BLOCKED: no access to the well' }])
  const { code, stdout } = await stage.run('nat:5', '-p', 'Go')
  expect(code).toBe(1)
  expect(stdout).toContain('no access to the well')
  expect(asked(stage)).toHaveLength(1)
})

test('a stop during an answer or a command takes effect at once', async () => {
  await using answering = await openNative([{ text: 'never', delayMs: 600_000 }])
  const waiting = answering.start('nat', '-p', 'Go')
  await waiting.printed('Running: nat')
  waiting.signal('SIGINT')
  expect(await waiting.finished).toMatchObject({ code: 130 })

  await using working = await openNative([{ text: 'I wait.', ...bash('sleep 600') }])
  const sleeping = working.start('nat', '-p', 'Go')
  await sleeping.printed('[bash] sleep 600')
  sleeping.signal('SIGINT')
  expect(await sleeping.finished).toMatchObject({ code: 130 })
})

test('the library can run it', async () => {
  await using stage = await openNative([bash('echo by-library >made'), { text: 'Made.' }])
  const program = `
    import { executeChain } from ${JSON.stringify(join(import.meta.dir, '../../src/index.ts'))}
    const said = []
    const { success } = await executeChain({
      cwd: ${JSON.stringify(stage.cwd)},
      steps: [{ agent: 'nat', iterations: 1, loop: false }],
      cliPrompt: 'Make it.',
      agentDefaults: { nat: { engine: 'native', model: 'sonnet' } },
      onEvent: (event) => event.type === 'message' && said.push(event.text),
    })
    console.log(JSON.stringify({ success, said }))
  `
  const path = join(stage.cwd, 'program.ts')
  await Bun.write(path, program)
  const child = Bun.spawn([process.execPath, path], {
    env: { PATH: process.env['PATH']!, HOME: stage.cwd, ...stage.model.env },
    stdout: 'pipe',
  })
  expect(JSON.parse(await child.stdout.text())).toEqual({ success: true, said: ['Made.'] })
  expect(readFileSync(join(stage.cwd, 'made'), 'utf8')).toBe('by-library\n')
})

test('a file from /read can be edited at once; all six tools work in a run', async () => {
  const call = (name: string, input: Record<string, unknown>) => ({ name, input })
  await using stage = await openNative(
    [
      {
        tools: [
          call('edit', { path: 'a.txt', edits: [{ old: 'beta', new: 'gamma' }] }),
          call('grep', { pattern: 'gamma' }),
          call('glob', { pattern: '*.txt' }),
          call('write', { path: 'b.txt', content: 'new\n' }),
          call('read', { path: 'b.txt' }),
          call('bash', { command: 'cat a.txt b.txt' }),
        ],
      },
      { text: 'Done.' },
    ],
    { files: { 'a.txt': 'alpha\nbeta\n', 'prompt.md': '/read a.txt\nChange it.' } },
  )
  expect((await stage.run('nat', '--prompt-file', 'prompt.md')).code).toBe(0)
  const results = asked(stage)[1]!.messages.at(-1)!.content
  const texts = results.map(({ content }) => String(content))
  expect(results.filter(({ is_error: isError }) => isError === true)).toEqual([])
  expect(texts[1]).toContain('a.txt\n2:gamma')
  expect(texts[2]).toContain('a.txt')
  expect(texts[4]).toBe('1\tnew')
  expect(texts.at(-1)).toStartWith('alpha\ngamma\nnew\n')
})
