import { expect, test } from 'bun:test'
import { forkhestra, shell } from '../support/forkhestra.ts'
import { makeChain, reasonsIn, runChain, withRecord, turnsIn } from '../support/chains.ts'
import { makeProject, sh } from '../support/project.ts'
import { ofType } from '../support/record.ts'

function inGit(cwd: string): string {
  const author = ['-c', 'user.name=Me', '-c', 'user.email=me@example.org']
  for (const args of [
    ['init', '-q'],
    ['add', '-A'],
    [...author, 'commit', '-qm', 'First'],
  ]) {
    const { exitCode, stderr } = Bun.spawnSync(['git', ...args], { cwd, env: process.env })
    if (exitCode !== 0) throw new Error(stderr.toString())
  }
  return cwd
}

/** A project with an agent of these lines; git ignores the files of the test itself. */
const project = (...lines: string[]) =>
  makeProject({
    agent: sh(...lines),
    'forge/keep': '',
    '.gitignore': 'count\n.state\n.config\n',
  })

/** Increments a counter in a file that git ignores; `$n` is the number of the call. */
const COUNT = 'n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n > count'

async function run(cwd: string, ...args: string[]) {
  return withRecord(await forkhestra(['agent:9', ...args], { cwd }), cwd)
}

test('--stall stops a program without progress and says what did not change', async () => {
  const cwd = inGit(project(COUNT))
  const { code, stdout, stderr, events } = await run(cwd, '--stall', '2')
  expect({ code, reasons: reasonsIn(events) }).toEqual({ code: 1, reasons: ['stalled'] })
  expect(turnsIn(events)).toEqual(['1.1 exited', '1.2 exited'])
  expect(stdout).toMatch(
    /2 iterations without progress: HEAD [\da-f]{7}, the working tree.* and the outcome \(exit 0\) did not change/,
  )
  expect(stderr).toContain('--stall 0 may help')
})

test('before the first commit, the stall says so in a sentence', async () => {
  const cwd = project('echo x')
  Bun.spawnSync(['git', 'init', '-q'], { cwd })
  const { stdout } = await run(cwd, '--stall', '2')
  expect(stdout).toContain(
    '2 iterations without progress: the working tree (no commits yet) and the outcome (exit 0) did not change',
  )
})

test('outside a git repository only the outcome counts', async () => {
  const { events, stdout } = await run(project(COUNT, 'echo $n > file'), '--stall', '2')
  expect(turnsIn(events)).toHaveLength(2)
  expect(stdout).toContain('2 iterations without progress: the outcome (exit 0) did not change')
})

test('without --stall a program is never stopped for a lack of progress', async () => {
  const { events } = await run(inGit(project(COUNT)))
  expect(reasonsIn(events)).toEqual(['max_iterations'])
})

test.each<[string, string[]]>([
  ['a changed file', ['[ $n -le 3 ] && echo $n > file']],
  ['a new file', ['[ $n -le 3 ] && touch "file $n"']],
  [
    'a commit',
    [
      '[ $n -le 3 ] && git -c user.name=Me -c user.email=me@example.org commit -q --allow-empty -m $n',
    ],
  ],
])('%s is progress', async (_, lines) => {
  const { events } = await run(inGit(project(COUNT, ...lines, 'exit 0')), '--stall', '2')
  expect(reasonsIn(events)).toEqual(['stalled'])
  expect(turnsIn(events)).toHaveLength(5)
  const idle = ofType(events, 'iteration_ended').map((event) => event.idle)
  expect(idle).toEqual([0, 0, 0, 1, 2])
})

test.each(['> night.log', '2> night.log', '> out.log 2> err.log', '>> agent.log 2>&1'])(
  'what the run itself prints into the project is not progress: %s',
  async (redirection) => {
    const cwd = inGit(project(COUNT, 'echo "Call $n"; echo "Call $n" >&2'))
    const { code } = await shell(`forkhestra agent:9 --stall 2 ${redirection}`, cwd)
    const { events } = withRecord({ code, stdout: '', stderr: '' }, cwd)
    expect(reasonsIn(events)).toEqual(['stalled'])
    const { changes } = ofType(events, 'iteration_ended').at(-1)!
    expect(changes).toMatchObject({ files: [], fileCount: 0 })
  },
)

test('a different outcome is progress', async () => {
  const { events } = await run(project(COUNT, '[ $n -le 3 ] && exit $n', 'exit 0'), '--stall', '2')
  // 1, 2, 3, 0, 0, 0
  expect(turnsIn(events)).toHaveLength(6)
  expect(reasonsIn(events)).toEqual(['stalled'])
})

test('a different result of a check is progress', async () => {
  const cwd = makeChain(
    [{ agent: 'agent', iterations: 9, stall: 2, verify: 'n=$(cat count); exit $((n<4?n:4))' }],
    { agent: sh(COUNT, 'echo ORCHESTRA_COMPLETE') },
  )
  const { events } = await runChain(cwd)
  // 1, 2, 3, 4, 4, 4
  expect(turnsIn(events)).toHaveLength(6)
  expect(reasonsIn(events)).toEqual(['stalled'])
})

test('a repeated iteration does not count as one without progress', async () => {
  const cwd = makeChain(
    [{ agent: 'agent', iterations: 9, stall: 2, retry: { attempts: 9, backoff: '10ms' } }],
    { agent: sh(COUNT, '[ $n -le 4 ] && echo "API Error: 529 Overloaded" && exit 1', 'exit 0') },
  )
  const { events } = await runChain(cwd)
  expect(turnsIn(events).slice(4)).toEqual(['1.1 exited', '1.2 exited'])
})

test('a resume after a stall starts counting again', async () => {
  const cwd = inGit(project(COUNT))
  await run(cwd, '--stall', '2')
  const resumed = withRecord(await forkhestra(['resume'], { cwd }), cwd)
  expect(reasonsIn(resumed.events)).toEqual(['stalled', 'stalled'])
  expect(turnsIn(resumed.events)).toEqual(['1.1 exited', '1.2 exited', '1.3 exited', '1.4 exited'])
})
