import { expect, test } from 'bun:test'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../../support/forkhestra.ts'
import { problemsOf, runPrompt, tasksOf } from '../../support/queue.ts'
import { endsIn } from '../../support/queue-records.ts'
import { makeProject, sh } from '../../support/project.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'

// The three examples of the design: a worker, an orchestrator, a sequential pipeline.

/** The examples as installed for a user. */
function copyExamples(): string {
  const cwd = makeProject()
  cpSync(join(import.meta.dir, '../../../examples'), cwd, { recursive: true })
  return cwd
}

const play = (cwd: string, example: string) =>
  forkhestra(['agents/engineer', '--prompt-file', `prompts/${example}.md`], { cwd })

test('example worker: it gets its files before its task', async () => {
  const cwd = copyExamples()
  const { code, stdout, stderr } = await play(cwd, 'worker')
  expect(`${code} ${stderr}`).toBe('0 ')
  expect(stdout).toContain('token: 7 checks passed\n')
  const prompt = argvOf(cwd).at(-1) ?? ''
  const order = ['src/auth/README.md', 'project/auth-design.md', 'Implement JWT validation']
  const places = order.map((text) => prompt.indexOf(text))
  expect(places.every((place) => place > 0)).toBe(true)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
})

/** How the step's agent was called. */
function argvOf(cwd: string): readonly string[] {
  const [run] = runsOf(cwd)
  return ofType(journalOf(cwd, run!), 'iteration_started')[0]?.argv ?? []
}

test('example worker: it reports a missing file and continues', async () => {
  const cwd = copyExamples()
  rmSync(join(cwd, 'project/auth-design.md'))
  const { code, stderr } = await play(cwd, 'worker')
  expect(code).toBe(1)
  expect(stderr).toContain("engineer: 'three parts separated by dots' is missing")
  expect(argvOf(cwd).at(-1)).toContain('error="File does not exist: project/auth-design.md"')
})

test('example orchestrator: it collects research, decides and queues the next task', async () => {
  const cwd = copyExamples()
  const { code, stdout, stderr } = await play(cwd, 'orchestrator')
  expect(`${code} ${stderr}`).toBe('0 ')
  const decision = readFileSync(join(cwd, 'DECISION.md'), 'utf8')
  expect(decision).toContain('[research-a: done]\nresearch-a found: signed tokens')
  expect(decision).toContain('[research-b: done]\nresearch-b found: sessions in a table')
  expect(stdout).toContain('Left in the queue: implement; to start: forkhestra run-queue')
  expect(existsSync(join(cwd, 'sessions.csv'))).toBe(false)

  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
  const { stdout: result } = await forkhestra(['check'], { cwd })
  expect(result).toBe('[implement: done]\nengineer: implemented, see sessions.csv\n')
  expect(existsSync(join(cwd, 'sessions.csv'))).toBe(true)
  expect(await problemsOf(cwd)).toEqual([])
})

test('example pipeline: it queues the next phase, which reads its file when it starts', async () => {
  const cwd = copyExamples()
  expect((await play(cwd, 'pipeline')).stdout).toContain('Left in the queue: phase2;')
  const spec = join(cwd, 'project/task-spec.md')
  writeFileSync(spec, `${readFileSync(spec, 'utf8')}\nChanged in between.\n`)
  const { code, stdout } = await forkhestra(['run-queue', '-v'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('phase2 | engineer: phase 2 is done')
  expect(stdout).toContain('Changed in between.')
  const [phase2] = endsIn(cwd)
  expect(phase2?.end?.output).toBe('engineer: phase 2 is done')
})

test('prompt check accepts the prompts of the examples', async () => {
  const cwd = copyExamples()
  for (const name of ['worker', 'orchestrator', 'pipeline']) {
    const { code } = await forkhestra(['prompt', 'check', `prompts/${name}.md`], { cwd })
    expect([name, code]).toEqual([name, 0])
  }
})

test('in a loop, files are read again and setup and teardown happen once', async () => {
  const agent = sh(
    'echo "$FORKHESTRA_AGENT_NAME: $1"',
    // Its sub-agent runs at the same time and could write at any moment.
    '[ "$FORKHESTRA_AGENT_NAME" = main ] || exit 0',
    'echo "count $FORKHESTRA_ITERATION" > count.md',
    '[ "$FORKHESTRA_ITERATION" = 3 ] && echo ORCHESTRA_COMPLETE',
    'exit 0',
  )
  const cwd = makeProject({
    'forge/.keep': '',
    agent,
    'count.md': 'count 0\n',
    'prompt.md': '/read count.md\n/push name=one "Once"\n/run\nCount.\n/push name=two "Later"\n',
  })
  const { code, stdout } = await forkhestra(['./agent:5', '--prompt-file', 'prompt.md'], { cwd })
  expect(code).toBe(0)
  for (const count of [0, 1, 2]) expect(stdout).toContain(`count ${count}\n`)
  expect((await tasksOf(cwd)).map(({ name, state }) => [name, state])).toEqual([
    ['one', 'ended'],
    ['two', 'queued'],
  ])
  const [run] = runsOf(cwd)
  const phases = ofType(journalOf(cwd, run!), 'phase_ended')
  expect(phases.map(({ phase, pushed, started }) => ({ phase, pushed, started }))).toEqual([
    { phase: 'setup', pushed: ['one'], started: ['one'] },
    { phase: 'teardown', pushed: ['two'], started: [] },
  ])
})

test('follow-up tasks after a failure are queued only if the prompt asks for it', async () => {
  const cwd = makeProject({
    'forge/.keep': '',
    agent: sh('exit 3'),
    'prompt.md': [
      'Fail.',
      '/push name=good "x"',
      '/push name=bad on=failure "x"',
      '/push name=both on=always "x"',
    ].join('\n'),
  })
  expect((await runPrompt(cwd)).code).toBe(1)
  expect((await tasksOf(cwd)).map(({ name }) => name)).toEqual(['bad', 'both'])
})

test('a prompt with a mistake is refused before any of it takes effect', async () => {
  const cwd = makeProject({
    'forge/.keep': '',
    agent: sh('true'),
    'prompt.md': '/push name=one "x"\n/run\nWork.\n/run\n',
  })
  const { code, stderr } = await runPrompt(cwd)
  expect(code).toBe(2)
  expect(stderr).toContain('prompt.md:4:1')
  expect(runsOf(cwd)).toEqual([])
})
