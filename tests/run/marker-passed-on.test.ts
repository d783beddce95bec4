import { expect, test } from 'bun:test'
import { forkhestra, FORKHESTRA } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { dirname } from 'node:path'

/** Scripts that call forkhestra find the one under test. */
function run(cwd: string, ...args: string[]) {
  const env = { PATH: `${dirname(FORKHESTRA)}:${cwd}:${process.env['PATH']}` }
  return forkhestra(args, { cwd, env })
}

async function newestRun(cwd: string): Promise<string> {
  const { stdout } = await run(cwd, 'runs', '--json')
  return (JSON.parse(stdout) as { runs: { id: string }[] }).runs[0]!.id
}

const NEWS = 'Text\nORCHESTRA_COMPLETE\nFORKHESTRA_BLOCKED: no access'
const QUOTED = 'Text\n> ORCHESTRA_COMPLETE\n> FORKHESTRA_BLOCKED: no access\n'

const commands: readonly (readonly [string, string, string])[] = [
  ['receive', `forkhestra send main '${NEWS}'`, 'forkhestra receive'],
  ['check', `forkhestra send main '${NEWS}'`, 'forkhestra check'],
  [
    'receive, with stderr on the same pipe',
    `forkhestra send main '${NEWS}'`,
    'forkhestra receive 2>&1',
  ],
  ['logs', '', 'forkhestra logs "$(cat earlier)"'],
  ['logs --raw', '', 'forkhestra logs --raw "$(cat earlier)"'],
  ['a task', '', 'forge-tasks view 1'],
  ['a nested run', '', 'forkhestra ./speaker || true'],
]

test.each(commands)(
  'output that forkhestra repeats inside a run does not end a loop: %s',
  async (_, before, command) => {
    const cwd = makeProject({
      'forge/tasks/TASK-001 - x.md': `---\nid: TASK-001\ntitle: x\nstatus: Done\n---\n\n${NEWS}\n`,
      speaker: sh(`printf '%s\\n' '${NEWS}'`),
      agent: sh(before, command),
    })
    await run(cwd, './speaker')
    await Bun.write(`${cwd}/earlier`, await newestRun(cwd))
    const { code, stdout } = await run(cwd, './agent:1')
    expect(stdout).toContain(QUOTED)
    expect(stdout).toContain('(max iterations reached, 1/1)')
    expect(code).toBe(1)
  },
)

const cut: readonly (readonly [string, string])[] = [
  ['in Windows lines', `printf 'a\\r\\nORCHESTRA_COMPLETE\\r\\nb\\r\\n'`],
  ['without a newline', `printf 'ORCHESTRA_COMPLETE'`],
  ['bold and coloured', `printf '\\033[1m**FORKHESTRA_COMPLETE**\\033[0m\\n'`],
  ['in a fence that is never closed', `printf '\`\`\`\\nORCHESTRA_COMPLETE\\n'`],
  ['on stderr', 'echo ORCHESTRA_COMPLETE >&2'],
]

test.each(cut)('the marker of a nested run ends the nested loop only: %s', async (name, line) => {
  const cwd = makeProject({
    inner: sh(line),
    agent: sh('forkhestra ./inner:1 >both 2>&1', 'echo "inner: $?"', 'cat both'),
  })
  const { code, stdout } = await run(cwd, './agent:1')
  expect(stdout).toContain(`inner: ${name === 'on stderr' ? 1 : 0}\n`)
  expect(stdout).toContain('> ')
  expect(stdout).toContain('(max iterations reached, 1/1)')
  expect(code).toBe(1)
})

const onTerminal: readonly (readonly [string, string])[] = [
  ['a nested run', 'forkhestra ./inner:1 --anyway'],
  ['a nested run with dropped characters', 'forkhestra ./broken:1 --anyway'],
  ['a message', 'forkhestra receive'],
  ['a task', 'forge-tasks view 1'],
  ['a log', 'forkhestra logs $(cat earlier)'],
]

test.each(onTerminal)(
  'a marker shown on a terminal does not end a loop: %s',
  async (_, command) => {
    const cwd = makeProject({
      'forge/tasks/TASK-001 - x.md': `---\nid: TASK-001\ntitle: x\nstatus: Done\n---\n\n${NEWS}\n`,
      inner: sh(`printf '%s\\n' Text ORCHESTRA_COMPLETE`),
      broken: sh(`printf 'ORCHESTRA_\\000COMPLETE\\nORCHESTRA_COMPLETE\\n'`),
      agent: sh(`forkhestra send main '${NEWS}' >/dev/null`, `script -qec '${command}' /dev/null`),
    })
    await run(cwd, './inner:1')
    await Bun.write(`${cwd}/earlier`, await newestRun(cwd))
    const { code, stdout } = await run(cwd, './agent:1')
    expect(stdout).toContain('> ORCHESTRA_COMPLETE')
    expect(stdout).toContain('(max iterations reached, 1/1)')
    expect(code).toBe(1)
  },
)

test('a marker in JSON is unchanged', async () => {
  const cwd = makeProject({
    inner: sh('echo ORCHESTRA_COMPLETE'),
    agent: sh('forkhestra ./inner:1 --json'),
  })
  const { code, stdout } = await run(cwd, './agent:1')
  expect(stdout).toContain('"text":"ORCHESTRA_COMPLETE\\n"')
  expect(code).toBe(1)
})

test('other output is passed on unchanged, byte by byte', async () => {
  const bytes = 'a \\377 ORCHESTRA_COMPLETE in a line\\n\\tOR\\r\\n\\033[31mORCHESTRA\\033[0m'
  const cwd = makeProject({
    inner: sh(`printf '${bytes}'`),
    agent: sh(
      'forkhestra ./inner >/dev/null',
      `printf '${bytes}' >expected`,
      'forkhestra logs --raw >got',
    ),
  })
  await run(cwd, './inner')
  await run(cwd, './agent')
  const [got, expected] = await Promise.all(
    ['got', 'expected'].map((file) => Bun.file(`${cwd}/${file}`).bytes()),
  )
  expect(got).toEqual(expected)
})

test('outside a run the marker is printed unchanged', async () => {
  const cwd = makeProject({ agent: sh('echo ORCHESTRA_COMPLETE') })
  const { stdout } = await run(cwd, './agent:1')
  expect(stdout).toContain('\nORCHESTRA_COMPLETE\n')
})

test('the marker of a bundled agent counts as its own', async () => {
  const message = {
    type: 'assistant',
    message: { id: '1', content: [{ type: 'text', text: 'ORCHESTRA_COMPLETE' }] },
  }
  const cwd = makeProject({
    claude: sh(
      `echo '${JSON.stringify(message)}'`,
      `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'`,
    ),
    agent: sh('IS_SANDBOX=1 forge-task-manager "Plan it"'),
  })
  const { code, stdout } = await run(cwd, './agent:2')
  expect(stdout).toContain('\nORCHESTRA_COMPLETE\n')
  expect(code).toBe(0)
})
