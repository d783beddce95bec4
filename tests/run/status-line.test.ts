// oxlint-disable no-control-regex
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { forkhestra, FORKHESTRA } from '../support/forkhestra.ts'
import { makeProject, sh, type Files } from '../support/project.ts'
import { Pty } from '../support/pty.ts'
import { fileIn } from '../support/until.ts'

const until = (name: string) => `until [ -e ${name} ]; do sleep 0.01; done`
const ESC = '\u001b'

interface Stage {
  readonly args: readonly string[]
  readonly files: Files
  readonly columns?: number
  readonly env?: Readonly<Record<string, string>>
}

function start({ args, files, columns = 80, env = {} }: Stage) {
  const cwd = makeProject(files)
  const pty = new Pty([FORKHESTRA, ...args], { cwd, columns, rows: 24, env })
  return { cwd, pty, go: (name: string) => void Bun.write(join(cwd, name), '') }
}

/** The last lines of the screen. */
function bottom({ lines }: Pty, count: number): string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1).slice(-count)
}

/** A stand-in for `claude`: prints events, and waits for files between them. */
function claude(...lines: (object | string)[]): string {
  return sh(
    ...lines.map((line) =>
      typeof line === 'string' ? line : `printf '%s\\n' '${JSON.stringify(line)}'`,
    ),
    `echo '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":1.2,"num_turns":1}'`,
  )
}

const tool = (name: string, input: object) => ({
  type: 'assistant',
  message: { id: name, content: [{ type: 'tool_use', id: name, name, input }] },
})
const toolResult = (id: string) => ({
  type: 'user',
  message: { content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
})

const DIRECT = JSON.stringify({
  agents: { build: { systemPromptText: 'Build.', tasks: true } },
  chains: {},
})

test('the line shows iteration, task, time, tool and what was spent against the budget', async () => {
  const { pty, go } = start({
    args: ['build:20', '--max-cost', '20', '--verify', until('checked')],
    files: {
      'forge/orch/chains.json': DIRECT,
      'forge/tasks/TASK-001 - Add login.md':
        '---\nid: TASK-001\ntitle: Add login\nstatus: To Do\n---\n',
      claude: claude(
        'forge-tasks next --claim >/dev/null',
        tool('Bash', { command: 'npm test' }),
        until('tested'),
        toolResult('Bash'),
        until('done'),
        'forge-tasks edit 1 --status done >/dev/null',
        {
          type: 'assistant',
          message: { id: '2', content: [{ type: 'text', text: 'ORCHESTRA_COMPLETE' }] },
        },
      ),
    },
    env: { IS_SANDBOX: '1' },
    columns: 120,
  })
  await using _ = pty
  await pty.shows(
    /^build 1\/20 · TASK-001 Add login · \d+s · Bash npm test \d:\d\d · \$0.00\/\$20.00$/m,
  )
  go('tested')
  await pty.shows(/^build 1\/20 · TASK-001 Add login · \d+s · thinking · \$0.00\/\$20.00$/m)
  go('done')
  await pty.shows(/^build 1\/20 · .*gate: until .* \d:\d\d/m)
  go('checked')
  expect(await pty.exited).toBe(0)
  await pty.shows('$1.20')
  expect(pty.text).not.toContain('/$20.00')
})

test('lines above are whole, and nothing of the status stays', async () => {
  const { pty, go } = start({
    args: ['./agent'],
    files: {
      agent: sh(
        `printf 'one '; ${until('a')}`,
        `printf 'line\\n\\rstep 1/2'; ${until('b')}`,
        `printf '\\rstep 2/2'; ${until('c')}`,
        `printf '\\n${'x'.repeat(170)}'; ${until('d')}; echo y`,
        `printf '\\033[31mred\\nstill red\\033[0m\\n'`,
      ),
    },
  })
  await using _ = pty
  await pty.shows(/^one\n\.\/agent · \ds/m)
  go('a')
  await pty.shows(/^one line\nstep 1\/2\n\.\/agent · \d+s/m)
  go('b')
  await pty.shows(/^one line\nstep 2\/2\n\.\/agent · \d+s/m)
  go('c')
  await pty.shows(/^step 2\/2\nx{80}\nx{80}\nx{10}\n\.\/agent · \d+s/m)
  go('d')
  expect(await pty.exited).toBe(0)
  await pty.shows('Pipeline complete')
  expect(pty.text.trimEnd()).toBe(
    [
      '[forkhestra] Running: ./agent',
      'one line',
      'step 2/2',
      'x'.repeat(80),
      'x'.repeat(80),
      `${'x'.repeat(10)}y`,
      'red',
      'still red',
      '[forkhestra] Done: ./agent (exit 0)',
      '',
      '[forkhestra] Pipeline complete (1/1 steps)',
    ].join('\n'),
  )
  expect(pty.leftBehind()).toEqual([])
})

test('branches have a row each, up to a third of the screen', async () => {
  const { pty, go } = start({
    args: ['./agent:3*9', '--max-parallel', '9'],
    files: { agent: sh(until('go'), 'echo ORCHESTRA_COMPLETE') },
  })
  await using _ = pty
  await pty.shows(/… and 3 more · 9 running/)
  expect(bottom(pty, 7).map((row) => row.replace(/\d+s/, 'T'))).toEqual([
    ...[1, 2, 3, 4, 5, 6].map((copy) => `agent#${copy} 1/3 · T`),
    '… and 3 more · 9 running',
  ])
  go('go')
  expect(await pty.exited).toBe(0)
})

test('a wait shows how long it takes, and until when', async () => {
  const { pty } = start({
    args: ['build:2'],
    files: {
      'forge/orch/chains.json': JSON.stringify({
        agents: { build: { systemPromptText: 'Build.', tasks: false } },
        chains: {},
      }),
      claude: sh(
        `echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$(($(date +%s) + 7000))'}}'`,
        `echo '{"type":"result","subtype":"error","is_error":true,"result":"You have hit your limit"}'`,
        'exit 1',
      ),
    },
    env: { IS_SANDBOX: '1' },
    columns: 120,
  })
  await using _ = pty
  await pty.shows(/^build 1\/2 · waiting 1 h 5\d min for the limit, until \d\d:\d\d$/m)
  pty.type('\u0003')
  expect(await pty.exited).toBe(130)
  expect(pty.leftBehind()).toEqual([])
})

const TITLE = { TERM_PROGRAM: 'WezTerm' }

test.each<[string[], Record<string, string>, string[]]>([
  [[], {}, ['[22;2t', ']0;./agent 1/2 - NAME', '[23;2t']],
  [[], TITLE, ['[22;2t', ']0;./agent 1/2 - NAME', ']9;4;3;0', '[23;2t', ']9;4;0;0']],
  [['--no-title'], TITLE, []],
  [[], { TERM: 'linux' }, []],
])('with %j and %j the window gets %j', async (args, env, expected) => {
  const { cwd, pty, go } = start({
    args: ['./agent:2', ...args],
    files: { agent: sh(until('go'), 'echo ORCHESTRA_COMPLETE') },
    env,
  })
  await using _ = pty
  await pty.shows('./agent 1/2 · ')
  go('go')
  expect(await pty.exited).toBe(0)
  await pty.shows('Chain complete')
  const sent = pty.output.match(/\u001b(?:\](?:0|9);[^\u0007]*|\[2[23];2t)/g) ?? []
  expect(sent.map((each) => each.slice(1).replace(basename(cwd), 'NAME'))).toEqual(expected)
})

test('what an agent says of itself cannot leave the line', async () => {
  const { pty, go } = start({
    args: ['build:2'],
    files: {
      'forge/orch/chains.json': JSON.stringify({
        agents: { build: { systemPromptText: 'Build.', tasks: false } },
        chains: {},
      }),
      claude: claude(
        tool(`Ba\u001b[2Jsh`, { command: `x\n\u001b]0;evil\u0007\u009b5A\u202e` }),
        until('go'),
      ),
    },
    columns: 120,
    env: { IS_SANDBOX: '1' },
  })
  await using _ = pty
  await pty.shows(/^build 1\/2 · \d+s · Ba \[2Jsh x .*evil.*5A +\d:\d\d$/m)
  expect(pty.output).not.toMatch(/\u001b\]0;evil|\u001b\[2J|\u00c2\u009b|\u00e2\u0080\u00ae/)
  pty.type('\u0003')
  expect(await pty.exited).toBe(130)
  go('go')
})

test.each([
  ['with TERM=dumb', '', { TERM: 'dumb' }],
  ['with CI=true', '', { CI: 'true' }],
  ['if stdout is a pipe to what may print on the same terminal', '| tee log', {}],
])('there is no status line %s', async (_, rest, env) => {
  const cwd = makeProject({ agent: sh('sleep 1.5') })
  await using pty = new Pty(['sh', '-c', `${FORKHESTRA} ./agent ${rest}`], { cwd, env })
  expect(await pty.exited).toBe(0)
  expect(pty.output).not.toContain('./agent ·')
  expect(pty.output).not.toContain(`${ESC}[0J`)
})

test('a terminal that takes nothing delays neither agents nor signals', async () => {
  const { cwd, pty, go } = start({
    args: ['./agent:2'],
    files: {
      agent: sh(
        until('go'),
        'i=0; while [ $i -lt 40000 ]; do echo "$i of a long output that nobody reads, line by line"; i=$((i+1)); done',
        'touch end-$FORKHESTRA_ITERATION',
      ),
    },
  })
  await using _ = pty
  await pty.shows('Iteration 1/2')
  // Ctrl-S.
  pty.type('\u0013')
  go('go')
  await fileIn(cwd, 'end-2')
  pty.type('\u0011')
  expect(await pty.exited).toBe(1)
  await pty.shows(/The terminal did not take \d+ lines; see: forkhestra logs/)
  await pty.shows('Failed at step 1')
  const { stdout } = await forkhestra(['logs', '--iteration', '2'], { cwd })
  expect(stdout).toContain('39999 of a long output')
})

test('a line without an end is neither collected in memory nor does it delay the agent', async () => {
  const { cwd, pty, go } = start({
    args: ['./agent', '--verbose'],
    files: {
      agent: sh(
        'echo begun',
        until('go'),
        "head -c 60000000 /dev/zero | tr '\\0' x",
        'grep VmHWM /proc/$PPID/status > peak',
        'touch end',
      ),
    },
  })
  await using _ = pty
  await pty.shows('begun')
  pty.type('\u0013')
  go('go')
  await fileIn(cwd, 'end')
  pty.type('\u0011')
  expect(await pty.exited).toBe(0)
  const [kilobytes] = /\d+/.exec(await Bun.file(join(cwd, 'peak')).text())!
  expect(Number(kilobytes)).toBeLessThan(250_000)
})

test('Ctrl-Z removes the status, bg does not show it, and fg brings it back', async () => {
  const cwd = makeProject({ agent: sh('echo at work', until('go')) })
  await using pty = new Pty(['bash', '--norc', '--noprofile', '-i'], {
    cwd,
    columns: 80,
    env: { PS1: '$ ', PATH: `${join(FORKHESTRA, '..')}:${process.env['PATH']}` },
  })
  pty.type('forkhestra ./agent\n')
  await pty.shows(/^\.\/agent · \ds/m)
  pty.type('\u001a')
  await pty.shows('Stopped')
  expect(pty.text).not.toContain('./agent ·')
  expect(existsSync(join(cwd, 'go'))).toBeFalse()
  pty.type('bg\n')
  await pty.shows('forkhestra ./agent &')
  pty.type('echo still $((40 + 2))\n')
  await pty.shows('still 42')
  expect(pty.text).not.toContain('./agent ·')
  pty.type('fg\n')
  await pty.shows(/^\.\/agent · \d+s/m)
  await Bun.write(join(cwd, 'go'), '')
  await pty.shows('Pipeline complete')
  expect(pty.text).not.toContain('./agent ·')
  pty.type('exit\n')
  await pty.exited
})

test('a window that becomes narrower keeps what is important', async () => {
  const { pty, go } = start({
    args: ['./agent:20', '--max-cost', '20'],
    columns: 60,
    files: { agent: sh('echo begun', until('go'), 'echo ORCHESTRA_COMPLETE') },
  })
  await using _ = pty
  await pty.shows(/^\.\/agent 1\/20 · \d+s · \$0.00\/\$20.00$/m)
  pty.resize(22, 24)
  await pty.shows(/^\.\/agent 1\/20 · \d+s( · …)?/m)
  go('go')
  expect(await pty.exited).toBe(0)
  await pty.until(() => pty.lines.join('').includes('Chain complete'))
  expect(pty.text).not.toContain(' · ')
})
