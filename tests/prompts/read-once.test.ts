import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { problemsOf, tasksOf } from '../support/queue.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'
import { fileIn } from '../support/until.ts'

/** `work` is what the step's agent does; sub-agents note their name. */
function makeStepProject(work: string, step: object, ...steps: object[]): string {
  const own =
    '[ "$FORKHESTRA_AGENT_NAME" = main ] || { echo "$FORKHESTRA_AGENT_NAME" >> ran; exit 0; }'
  const chains = { c: { steps: [{ name: 'build', agent: './agent', ...step }, ...steps] } }
  return makeProject({
    agent: sh(own, work),
    review: sh('[ -e seen ] && exit 0', 'touch seen', 'exit 3'),
    'forge/orch/chains.json': JSON.stringify({ chains }),
  })
}

const PROMPT = [
  '/push name=prep "x"',
  '/run',
  '/push name=kept "x"',
  'Build it.',
  '/push name=after "x"',
  '/push name=mend on=failure "x"',
  '/push name=tidy on=always "x"',
].join('\n')

async function namesOf(cwd: string): Promise<string[]> {
  expect(await problemsOf(cwd)).toEqual([])
  return (await tasksOf(cwd)).map(({ name }) => name)
}

const phasesOf = (cwd: string) =>
  ofType(journalOf(cwd, runsOf(cwd)[0]!), 'phase_ended').map(({ phase, pushed }) => [phase, pushed])

test('a step resumed after a failure is not set up again', async () => {
  const cwd = makeStepProject('[ -e mended ]', { prompt: PROMPT })
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(1)
  expect(await namesOf(cwd)).toEqual(['prep', 'kept', 'mend', 'tidy'])
  writeFileSync(join(cwd, 'mended'), '')
  const { code, stderr } = await forkhestra(['resume'], { cwd })
  expect(`${code} ${stderr}`).toBe('0 ')
  expect(await namesOf(cwd)).toEqual(['prep', 'kept', 'mend', 'tidy', 'after'])
  expect(readFileSync(join(cwd, 'ran'), 'utf8')).toBe('prep\n')
  expect(phasesOf(cwd)).toEqual([
    ['setup', ['prep', 'kept']],
    ['teardown', ['mend', 'tidy']],
    ['teardown', ['after']],
  ])
})

test('a step that runs again after a later one is neither set up nor torn down again', async () => {
  const review = { agent: './review', onFail: { goto: 'build', times: 2 } }
  const cwd = makeStepProject('echo "$1" >> built', { prompt: PROMPT }, review)
  const { code, stderr } = await forkhestra(['--chain', 'c'], { cwd })
  expect(`${code} ${stderr}`).toBe(
    '0 [forkhestra] Step 2 failed: continuing at step 1 (build) (1/2)\n',
  )
  expect(readFileSync(join(cwd, 'built'), 'utf8')).toBe('Build it.\n'.repeat(2))
  expect(await namesOf(cwd)).toEqual(['prep', 'kept', 'after', 'tidy'])
  expect(phasesOf(cwd)).toEqual([
    ['setup', ['prep', 'kept']],
    ['teardown', ['after', 'tidy']],
  ])
})

test('commands added to a prompt file later run once', async () => {
  const work = [
    'cp later.md prompt.md',
    '[ "$FORKHESTRA_ITERATION" = 3 ] && echo ORCHESTRA_COMPLETE',
    'exit 0',
  ]
  const cwd = makeStepProject(work.join('\n'), { promptFile: 'prompt.md', iterations: 3 })
  writeFileSync(join(cwd, 'prompt.md'), 'Plan it.')
  writeFileSync(join(cwd, 'later.md'), PROMPT)
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
  expect(await namesOf(cwd)).toEqual(['prep', 'kept', 'after', 'tidy'])
  expect(readFileSync(join(cwd, 'ran'), 'utf8')).toBe('prep\n')
})

test.each([1, 2])(
  'a run killed in iteration %i is neither set up nor torn down twice',
  async (at) => {
    const work = [
      `[ -e killed ] || [ "$FORKHESTRA_ITERATION" != ${at} ] || { touch killed; sleep 600; }`,
      '[ "$FORKHESTRA_ITERATION" = 3 ] && echo ORCHESTRA_COMPLETE',
      'exit 0',
    ]
    const cwd = makeStepProject(work.join('\n'), { prompt: PROMPT, iterations: 3 })
    const running = new Running(['--chain', 'c'], { cwd })
    await fileIn(cwd, 'killed')
    running.signal('SIGKILL')
    await running.finished
    const { code } = await forkhestra(['resume', '--kill-orphans'], { cwd })
    expect(code).toBe(0)
    expect(await namesOf(cwd)).toEqual(['prep', 'kept', 'after', 'tidy'])
    expect(phasesOf(cwd).map(([phase]) => phase)).toEqual(['setup', 'teardown'])
  },
)

test('a run that was killed right after its teardown does not queue it again', async () => {
  const cwd = makeStepProject('exit 0', { prompt: PROMPT })
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
  const journal = join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!, 'events.ndjson')
  const lines = readFileSync(journal, 'utf8').split('\n')
  const end = lines.findIndex((line) => line.includes('"phase":"teardown"'))
  writeFileSync(journal, `${lines.slice(0, end).join('\n')}\n`)
  expect((await forkhestra(['resume'], { cwd })).code).toBe(0)
  expect(await namesOf(cwd)).toEqual(['prep', 'kept', 'after', 'tidy'])
})

test('a retried task is neither set up nor torn down twice', async () => {
  const outer = '/push name=inner "echo inner >> ran"\n/run\n. ./outer.sh\n/push name=last "true"'
  const cwd = makeProject({
    'forge/.keep': '',
    agent: sh('eval "$1"'),
    'outer.md': outer,
    'outer.sh': [
      'until [ -e ran ]; do sleep 0.01; done',
      'echo outer >> ran',
      '[ -e begun ] || { touch begun; exec sleep 600; }',
    ].join('\n'),
  })
  const prompt = [
    '[ -e pushed ] || forkhestra push name=outer retry=1 - < outer.md',
    'touch pushed; forkhestra run-queue; forkhestra receive',
  ].join('\n')
  const running = new Running(['./agent', '--prompt', prompt], { cwd })
  await fileIn(cwd, 'begun')
  running.signal('SIGKILL')
  await running.finished
  await forkhestra(['resume', '--kill-orphans'], { cwd })
  expect(readFileSync(join(cwd, 'ran'), 'utf8').split('\n').slice(0, 3)).toEqual([
    'inner',
    'outer',
    'outer',
  ])
  const names = await namesOf(cwd)
  expect(names.filter((name) => name === 'inner')).toHaveLength(1)
  expect(names.filter((name) => name === 'last')).toHaveLength(1)
})
