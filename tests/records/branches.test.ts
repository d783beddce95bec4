import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { fileIn, until } from '../support/until.ts'

/** A run of three copies, of which the second fails in its first iteration and the third has no end. */
async function runCopies(): Promise<string> {
  const cwd = makeProject({
    build: sh(
      'echo "$FORKHESTRA_AGENT_NAME in iteration $FORKHESTRA_ITERATION"',
      '[ "$FORKHESTRA_AGENT_NAME" = "build#3" ] && exit 0',
      '[ "$FORKHESTRA_AGENT_NAME" != "build#2" ] || [ "$FORKHESTRA_ITERATION" = 2 ] || exit 3',
      'echo ORCHESTRA_COMPLETE',
    ),
  })
  const { code, stdout, stderr } = await forkhestra(['./build:2*3'], { cwd })
  expect(code).toBe(1)
  expect(stdout).toEndWith(`

  1. ./build: 2 of 3 copies complete (5 iterations); #3: max iterations reached
[forkhestra] Chain incomplete (0/1 steps)
[forkhestra] Failed at step 1: ./build#3 (max iterations reached, 2/2)
`)
  expect(stderr).toContain('build#2 │ [forkhestra] Iteration 1/2: exit 3\n')
  return cwd
}

const ask = async (cwd: string, ...args: string[]) => (await forkhestra(args, { cwd })).stdout

test('the copies of a step are shown together or one by one', async () => {
  const cwd = await runCopies()
  const shown = await ask(cwd, 'show')
  const [, step = ''] = /Step 1: ([^]*?)\n\n/.exec(shown) ?? []
  const [title, ...rest] = step.replaceAll(/ \d\d:\d\d +[\d.]+ s /g, '').split('\n')
  expect(title).toBe('./build: 3 copies')
  expect(rest.slice(0, 4)).toEqual([
    '  #1: complete (1/2 iterations, marker)',
    '  #2: complete (2/2 iterations, marker)',
    '  #3: not complete (2/2 iterations, max_iterations)',
    expect.stringMatching(/5 iterations; 1 iteration failed$/),
  ])
  expect(rest[4]).toMatch(/^ {2}agent +# +start +time +outcome$/)
  expect(rest.slice(5).toSorted()).toEqual([
    '  build#1  1  marker',
    '  build#2  1  exit 3',
    '  build#2  2  marker',
    '  build#3  1  exit 0',
    '  build#3  2  exit 0',
  ])
  expect(shown).toContain('--step 1 --copy 3 --iteration 2')
  const one = await ask(cwd, 'show', '--step', '1', '--copy', '2')
  expect(one).toContain('Step 1: ./build, copy 2: complete (2/2 iterations, marker)\n')
  const receipt = await ask(cwd, 'show', '--step', '1', '--copy', '2', '--iteration', '1')
  expect(receipt).toContain(', step 1: ./build, iteration 1 (copy 2)\n  outcome   exit 3\n')
  expect(receipt).toContain('/steps/1/copy-2/iterations/1.log\n')
  const { steps } = JSON.parse(await ask(cwd, 'show', '--json')) as { steps: object[] }
  expect(steps).toMatchObject([
    { step: 1, scope: ['s1', 'c1'], branch: 'build#1', reason: 'marker', receipts: [{ step: 1 }] },
    { step: 1, scope: ['s1', 'c2'], branch: 'build#2', iterations: 2 },
    { step: 1, scope: ['s1', 'c3'], branch: 'build#3', reason: 'max_iterations' },
  ])
})

test('the output of one copy is printed again', async () => {
  const cwd = await runCopies()
  expect(await ask(cwd, 'logs', '--step', '1', '--copy', '2')).toBe(
    `[forkhestra] In parallel: 3 copies of ./build:2
build#2 │ [forkhestra] Starting: ./build (max 2 iterations)
build#2 │ [forkhestra] Iteration 1/2
build#2 │ build#2 in iteration 1
build#2 │ [forkhestra] Iteration 2/2
build#2 │ build#2 in iteration 2
build#2 │ ORCHESTRA_COMPLETE
build#2 │ [forkhestra] Complete after 2 iterations
`,
  )
  const raw = ['logs', '--raw', '--step', '1']
  expect(await ask(cwd, ...raw, '--copy', '3', '--iteration', '2')).toBe('build#3 in iteration 2\n')
  expect((await ask(cwd, ...raw)).match(/^build#\d in iteration \d$/gm)).toHaveLength(5)
})

test.each([
  [['show', '--copy', '2'], '--copy needs --step.'],
  [['show', '--step', '1', '--copy', 'x'], "--copy is 'x', expected the number of a copy."],
  [['show', '--step', '1', '--copy', '4'], 'has no copy 4.'],
  [['show', '--step', '1', '--iteration', '1'], 'has 3 copies.'],
  [['logs', '--step', '1', '--copy', '1', '--iteration', '2'], 'has no iteration 2'],
])('%j is refused', async (args, message) => {
  const { code, stderr } = await forkhestra(args, { cwd: await runCopies() })
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})

test('cost and time are added up by step or by branch', async () => {
  const cwd = await runCopies()
  const count = async (by: string) => {
    const { rows } = JSON.parse(await ask(cwd, 'cost', '--by', by, '--json')) as {
      rows: { key: string; iterations: number }[]
    }
    return rows.map(({ key, iterations }) => `${key}: ${iterations}`).toSorted()
  }
  expect(await count('step')).toEqual(['step 1: ./build: 5'])
  expect(await count('branch')).toEqual(['build#1: 1', 'build#2: 2', 'build#3: 2'])
})

test('a killed run is shown with what all of its branches had printed', async () => {
  const cwd = makeProject({
    work: sh(
      'echo "begun by $FORKHESTRA_AGENT_NAME"; printf "half a line"; touch "$FORKHESTRA_AGENT_NAME"',
      'until [ -e end ]; do sleep 0.01; done',
    ),
  })
  const run = new Running(['./work*2'], { cwd })
  for (const name of ['work#1', 'work#2']) await fileIn(cwd, name)
  const follower = new Running(['logs', '--follow'], { cwd })
  for (const name of ['work#1', 'work#2']) await follower.printed(`${name} │ begun by ${name}`)
  expect(await ask(cwd, 'runs')).toContain('running  ./work*2  step 1/1, 2 in parallel')
  run.signal('SIGKILL')
  const followed = await follower.finished
  expect(followed.code).toBe(1)
  writeFileSync(join(cwd, 'end'), '')
  for (const text of [followed.stdout, await ask(cwd, 'logs')]) {
    const lines = text.split('\n')
    for (const name of ['work#1', 'work#2'])
      expect(lines.filter((line) => line.startsWith(name))).toEqual([
        `${name} │ [forkhestra] Running: ./work`,
        `${name} │ begun by ${name}`,
        `${name} │ half a line`,
      ])
  }
})

test('branches that wait are shown with their waits, and one request ends all of them', async () => {
  const cwd = makeProject({
    work: sh(
      'touch "$FORKHESTRA_AGENT_NAME"',
      '[ -e go ] && { echo ORCHESTRA_COMPLETE; exit 0; }',
      'echo "Claude AI usage limit reached|$(($(date +%s) + 7200))"; exit 1',
    ),
  })
  const run = new Running(['./work:2*2'], { cwd })
  await until(() => run.stderr.split('Waiting for the limit to reset').length === 3)
  expect(await ask(cwd, 'runs')).toMatch(
    / waiting +\.\/work:2\*2 +step 1\/1, 2 in parallel, 2 waiting /,
  )
  const shown = await ask(cwd, 'show')
  for (const copy of ['#1', '#2'])
    expect(shown).toMatch(new RegExp(`^  ${copy} waits \\(quota\\) until`, 'm'))
  const { runs } = JSON.parse(await ask(cwd, 'runs', '--json')) as {
    runs: { waiting: object; waits: { scope: string[] }[] }[]
  }
  expect(runs[0]!.waiting).toEqual(runs[0]!.waits[0]!)
  expect(runs[0]!.waits.map(({ scope }) => scope.join('/')).toSorted()).toEqual([
    's1/c1/i1',
    's1/c2/i1',
  ])
  writeFileSync(join(cwd, 'go'), '')
  expect(await ask(cwd, 'retry-now')).toMatch(/: wait cancelled, retrying work#\d, work#\d\.\n$/)
  const { code, stdout, stderr } = await run.finished
  expect(code).toBe(0)
  expect(stdout.match(/^work#\d │ \[forkhestra\] Retrying now$/gm)).toHaveLength(2)
  expect(stderr.match(/To retry now: /g)).toHaveLength(1)
})
