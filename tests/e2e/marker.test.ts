import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventsOf, openStage, outcomes, reasons, withoutSums } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

test('each iteration is a new session until one gives the marker', async () => {
  const script = [{ text: 'One page.' }, { text: 'Two pages.' }, DONE]
  await using stage = await openStage({ script, ...writes({}, { iterations: 5 }) })
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  expect(withoutSums(stdout)).toBe(`[forkhestra] Starting: writer (max 5 iterations)
[forkhestra] Iteration 1/5
One page.
[forkhestra] Iteration 2/5
Two pages.
[forkhestra] Iteration 3/5
All is written.
ORCHESTRA_COMPLETE
[forkhestra] Complete after 3 iterations

[forkhestra] Chain complete (1/1 steps)
[forkhestra] Spent: …
`)
  expect(stdout).toMatch(/ s, 3 iterations, 360 tokens, \$0\.\d+\n$/)
  expect([code, stderr]).toEqual([0, ''])
  expect(stage.asks.map(({ prompt }) => prompt)).toEqual(['Write.', 'Write.', 'Write.'])
  expect(stage.asks.flatMap(({ results }) => results)).toEqual([])
})

test('without a marker all iterations run', async () => {
  const script = [{ text: 'One page.' }, { text: 'I will not say ORCHESTRA_COMPLETE yet.' }]
  await using stage = await openStage({ script, ...writes({}, { iterations: 2 }) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([
    { kind: 'exited', code: 0 },
    { kind: 'exited', code: 0 },
  ])
  expect(eventsOf(result, 'marker_refused').map(({ why }) => why)).toEqual(['longer_line'])
  expect([result.code, reasons(result)]).toEqual([1, ['max_iterations']])
})

test('an agent that runs once is done when it ends, marker or not', async () => {
  await using stage = await openStage({ script: [{ text: 'A page.' }], ...writes({}, {}) })
  const { code, stdout } = await stage.run('--chain', 'w')
  expect(withoutSums(stdout)).toBe(`[forkhestra] Running: writer
A page.
[forkhestra] Done: writer (exit 0)

[forkhestra] Pipeline complete (1/1 steps)
[forkhestra] Spent: …
`)
  expect(code).toBe(0)
})

test('a tool call runs, is shown in one line, and its result goes to the model', async () => {
  const write = {
    name: 'Write',
    input: { file_path: 'page.txt', content: 'once upon a time' },
  }
  const script = [{ text: 'I write.', tool: write }, { tool: bash('cat page.txt') }, DONE]
  await using stage = await openStage({ script, ...writes() })
  const { code, stdout } = await stage.run('--chain', 'w')
  expect(readFileSync(join(stage.cwd, 'page.txt'), 'utf8')).toBe('once upon a time')
  expect(stdout).toContain('I write.\n[Write] page.txt\n[Bash] cat page.txt\nAll is written.\n')
  expect(stage.asks.at(-1)?.results[1]).toContain('once upon a time')
  expect(code).toBe(0)
})

test('a marker in a tool result does not count', async () => {
  const script = [{ tool: bash('echo ORCHESTRA_COMPLETE') }, { text: 'It is printed.' }]
  await using stage = await openStage({ script, ...writes({}, { iterations: 1 }) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'exited', code: 0 }])
  expect(result.code).toBe(1)
})

test('a marker of a sub-agent does not count', async () => {
  const ask = {
    name: 'Agent',
    input: { description: 'Help', prompt: 'Do a part.', subagent_type: 'general-purpose' },
  }
  const script = {
    conversations: [
      { when: { prompt: '^Do a part' }, turns: [{ ...DONE, tool: bash('true') }, DONE] },
      { turns: [{ tool: ask }, { text: 'My helper is done, I am not.' }] },
    ],
  }
  await using stage = await openStage({ script, ...writes({}, { iterations: 1 }) })
  const result = await stage.runJson('--chain', 'w')
  const tools = eventsOf(result, 'tool').map(({ name, parent }) => [name, parent !== undefined])
  expect(tools).toEqual([
    ['Agent', false],
    ['Bash', true],
  ])
  expect(stage.asks.at(-1)?.results.join()).toContain('ORCHESTRA_COMPLETE')
  expect(outcomes(result)).toEqual([{ kind: 'exited', code: 0 }])
})

test('an echoed prompt does not count, even if it is only the marker', async () => {
  const script = [{ text: 'I do not know what you mean.' }]
  await using stage = await openStage({ script, ...writes({}, { iterations: 1 }) })
  const result = await stage.runJson('--chain', 'w', '--prompt', 'Say:\nORCHESTRA_COMPLETE\n')
  expect(stage.asks[0]?.prompt).toContain('\nORCHESTRA_COMPLETE\n')
  expect(outcomes(result)).toEqual([{ kind: 'exited', code: 0 }])
})

test('a marker in a message that also calls a tool counts, and the agent may finish', async () => {
  const script = [{ ...DONE, tool: bash('touch committed') }, { text: 'Committed.' }]
  await using stage = await openStage({ script, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'marker' }])
  expect(existsSync(join(stage.cwd, 'committed'))).toBe(true)
  expect([result.code, stage.model.unused]).toEqual([0, []])
})

test('a marker in a closed fence is refused, one in the message after it counts', async () => {
  const fenced = { text: 'I would say:\n```\nORCHESTRA_COMPLETE\n```' }
  const script = [fenced, { ...fenced, tool: bash('true') }, DONE]
  await using stage = await openStage({ script, ...writes() })
  const { code, stdout } = await stage.run('--chain', 'w')
  expect(stdout.match(/Marker ignored: inside a code fence/g)).toHaveLength(2)
  expect(stdout).toContain('Complete after 2 iterations')
  expect(code).toBe(0)
})

test('a marker in thinking does not count', async () => {
  const script = [{ thinking: 'ORCHESTRA_COMPLETE', text: 'I think about it.' }]
  await using stage = await openStage({ script, ...writes({}, { iterations: 1 }) })
  const result = await stage.runJson('--chain', 'w')
  expect(eventsOf(result, 'message').map(({ text }) => text)).toEqual(['I think about it.'])
  expect(outcomes(result)).toEqual([{ kind: 'exited', code: 0 }])
})

test('a message of a megabyte is shown whole, and its marker counts', async () => {
  const pages = 'A line of a long page.\n'.repeat(45_000)
  const script = [{ text: `${pages}ORCHESTRA_COMPLETE` }]
  await using stage = await openStage({ script, ...writes({}, { iterations: 1 }) })
  const { code, stdout } = await stage.run('--chain', 'w')
  expect(stdout).toContain(`Iteration 1/1\n${pages}ORCHESTRA_COMPLETE\n[forkhestra] Complete`)
  expect(code).toBe(0)
})
