import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { renderDryRun } from './dry-run.ts'

const BINARY = { kind: 'binary', args: [], argv: [], lines: [] }
const STEP = { level: 'step' as const }

const withPrompt = (text: string, verbose = false) => {
  const step = { ...BINARY, step: 1, agent: 'a', prompt: { text, source: STEP } }
  const line = renderDryRun([step], [], verbose)
    .split('\n')
    .find((each) => each.includes('prompt: '))
  return line?.trim().slice('prompt: '.length)
}

test('a chain is printed with the exact lines', () => {
  const steps = [
    {
      ...BINARY,
      step: 1,
      agent: 'task-manager',
      maxIterations: 2,
      prompt: { text: 'Break down requirements.md into atomic tasks', source: STEP },
    },
    { ...BINARY, step: 2, agent: 'task-coordinator', args: ['--task', 'TASK-001'] },
    { ...BINARY, step: 3, agent: 'last', maxIterations: 1 },
  ]
  expect(renderDryRun(steps, [], false))
    .toBe(`[forkhestra] Dry run - would execute the following chain:

  1. task-manager - loop up to 2 iterations
       prompt: "Break down requirements.md into atomic tasks"
  2. task-coordinator - run once
       args: ["--task","TASK-001"]
  3. last - loop up to 1 iteration

[forkhestra] Dry run complete. No agents were executed.`)
})

test('-v shows the source of the prompt, the kind of the agent and the exact command', () => {
  const steps = [
    {
      ...BINARY,
      step: 1,
      agent: 'a',
      args: ['x'],
      argv: ['/bin/a', 'x', 'Do it'],
      prompt: { text: 'Do it', source: { level: 'chain' as const, file: 'p.md' } },
    },
    { ...BINARY, step: 2, agent: 'b', argv: ['/bin/b'] },
  ]
  expect(renderDryRun(steps, [], true))
    .toBe(`[forkhestra] Dry run - would execute the following chain:

  1. a - run once
       args: ["x"]
       prompt: "Do it"
       prompt from: chain, file p.md
       kind: binary
       command: ["/bin/a","x","Do it"]
  2. b - run once
       prompt from: none
       kind: binary
       command: ["/bin/b"]

[forkhestra] Dry run complete. No agents were executed.`)
})

test('details follow each agent, and those of the chain come first', () => {
  const steps = [
    { ...BINARY, step: 1, agent: 'a', args: ['x'], lines: [{ label: 'verify', words: 'a\nb' }] },
    { ...BINARY, step: 2, agent: 'medic', isRecovery: true },
  ]
  const chain = [{ label: 'budget', words: '$5.00' }]
  expect(renderDryRun(steps, chain, false))
    .toBe(`[forkhestra] Dry run - would execute the following chain:

  The chain as a whole
       budget: $5.00

  1. a - run once
       args: ["x"]
       verify: a\\nb
  2. medic - run once, only on failure

[forkhestra] Dry run complete. No agents were executed.`)
})

test.each([
  ['one\ntwo\r\n', String.raw`"one\ntwo\r\n"`],
  ['a\tb', String.raw`"a\tb"`],
  ['\u001b[31mred', String.raw`"\u001b[31mred"`],
  ['\u009b31m', String.raw`"\u009b31m"`],
  ['say "hi"', '"say "hi""'],
  ['${ITERATION}', '"${ITERATION}"'],
  ['é 日本 👍', '"é 日本 👍"'],
])('the prompt %j is shown as %s', (text, shown) => {
  expect(withPrompt(text)).toBe(shown)
})

test('a prompt is cut at a hundred characters, not bytes, unless -v', () => {
  expect(withPrompt('👍'.repeat(100))).toBe(`"${'👍'.repeat(100)}"`)
  expect(withPrompt('👍'.repeat(101))).toBe(`"${'👍'.repeat(100)}..."`)
  expect(withPrompt('x'.repeat(5000), true)).toBe(`"${'x'.repeat(5000)}"`)
})

test('prompts and commands cannot leave their line or control the terminal', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.boolean(), (text, verbose) => {
      const lines = [{ label: 'verify', words: text }]
      const step = { ...BINARY, lines, step: 1, agent: 'a', prompt: { text, source: STEP } }
      const shown = renderDryRun([step], [], verbose)
      expect(shown.split('\n')).toHaveLength(verbose ? 10 : 7)
      // oxlint-disable-next-line no-control-regex
      expect(shown.replaceAll('\n', '')).not.toMatch(/[\0-\x1f\x7f-\x9f]/)
    }),
  )
})
