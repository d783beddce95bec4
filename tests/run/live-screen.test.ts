import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { pipe } from '../support/chat.ts'
import { forkhestra, FORKHESTRA, Running } from '../support/forkhestra.ts'
import { openNative } from '../support/native.ts'
import { makeProject, sh, type Files } from '../support/project.ts'
import { Pty } from '../support/pty.ts'

const until = (name: string) => `until [ -e ${name} ]; do sleep 0.01; done`
const ESC = '\u001b'

interface Size {
  readonly columns?: number
  readonly rows?: number
}

class Stage {
  readonly cwd: string

  constructor(files: Files) {
    this.cwd = makeProject(files)
  }

  go(...names: string[]): void {
    for (const name of names) void Bun.write(join(this.cwd, name), '')
  }

  /** A run in another terminal. */
  start(...args: string[]): Running {
    return new Running(args, { cwd: this.cwd, env: { IS_SANDBOX: '1' } })
  }

  pty(args: readonly string[], { columns = 80, rows = 24 }: Size = {}): Pty {
    const env = { IS_SANDBOX: '1' }
    return new Pty([FORKHESTRA, ...args], { cwd: this.cwd, env, columns, rows })
  }

  watch(size?: Size): Pty {
    return this.pty(['watch'], size)
  }
}

/** The screen without what changes from run to run. */
function screen({ lines }: Pty): string[] {
  return lines.map((line) =>
    line
      .replaceAll(/\d{8}-\d{6}-\w{6}/g, 'RUN')
      .replaceAll(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '*')
      .replaceAll(/\b\d+s/g, 'Ts')
      .replaceAll(/\(0[.\d]* s\)/g, '(T)')
      .replaceAll(/\d:\d\d/g, 'T:TT')
      .trimEnd(),
  )
}

async function quit(pty: Pty): Promise<void> {
  pty.type('q')
  expect(await pty.exited).toBe(0)
  await restored(pty)
}

/** The last output of a program may arrive after it has ended. */
async function restored(pty: Pty): Promise<void> {
  await pty.until(() => pty.leftBehind().length === 0)
}

const event = (content: object, type = 'assistant') =>
  `printf '%s\\n' '${JSON.stringify({ type, message: { id: '1', content: [content] } })}'`
const says = (text: string) => event({ type: 'text', text })
const tool = (id: string, command: string) =>
  event({ type: 'tool_use', id, name: 'Bash', input: { command } })
const result = (id: string, content: string, isError: boolean) =>
  event({ type: 'tool_result', tool_use_id: id, is_error: isError, content }, 'user')

const CLAUDE = {
  'forge/orch/chains.json': JSON.stringify({
    agents: { build: { systemPromptText: 'Build.' } },
    chains: { night: { steps: [{ agent: 'build', iterations: 9 }, { agent: './review' }] } },
  }),
  claude: sh(
    says('First I read the form.'),
    tool('t1', 'npm test'),
    result('t1', 'two tests failed', true),
    'if [ ! -e second ]; then touch second; else',
    tool('t2', 'npm run build'),
    until('go'),
    says('ORCHESTRA_COMPLETE'),
    'fi',
    `echo '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":1.2,"num_turns":1}'`,
  ),
  review: sh('echo reviewed'),
}
const NIGHT = ['--chain', 'night', '-p', 'Add a login.', '--max-cost', '20']

test('a run of another terminal, in 80 and 140 columns, resized in the middle', async () => {
  const stage = new Stage(CLAUDE)
  const run = stage.start(...NIGHT)
  await run.printed('npm run build')
  await using pty = stage.watch()
  await pty.shows('] npm run build')
  expect(screen(pty)).toEqual([
    ' * night · running Ts · RUN                     $1.20/$20.00',
    '  * run                       │ build 2/9 · running · Ts',
    '▾ * build 2/9        Ts $1.20 │ now     Bash npm run build T:TT',
    '    ✓ 1              Ts $1.20 │ ── [log]  changes   prompt  ───────── following',
    '    * 2                    Ts │ First I read the form.',
    '  · review                    │ [Bash] npm test',
    '                              │ [Bash] failed: two tests failed',
    '                              │ [Bash] npm run build',
    ...Array.from({ length: 15 }, () => '                              │'),
    ' q quit view  ? keys  ↑↓ select  Enter log  s stop  S stop now  Tab changes',
  ])
  pty.resize(140, 30)
  await pty.shows('r retry now')
  expect(pty.lines[0]).toMatch(/^ . night · running \d+s · \S+ {60,}\$1.20\/\$20.00$/)
  expect(pty.lines.slice(1, 29).map((line) => line.indexOf('│'))).toEqual(Array(28).fill(44))
  // The log, the changes, the prompt, and a search in the whole screen.
  pty.type('\t')
  await pty.shows('Known when the iteration ends.')
  pty.type('\t')
  await pty.shows('Add a login.')
  pty.type('\tk\r')
  await pty.shows(/^\[Bash\] failed: two tests failed$/m)
  expect(pty.text).not.toContain('│')
  pty.type('/FORM\r')
  await pty.until(() => pty.output.includes(`${ESC}[7mFirst I read the form.`))
  pty.type('e')
  await pty.until(() => pty.output.includes(`${ESC}[7m[Bash] failed`))
  pty.type(ESC)
  await pty.shows('│')
  await quit(pty)
  stage.go('go')
  expect((await run.finished).code).toBe(0)
})

test('a finished run is shown with its changes, and is not stopped', async () => {
  const stage = new Stage(CLAUDE)
  stage.go('second', 'go')
  expect((await stage.start(...NIGHT).finished).code).toBe(0)
  await using pty = stage.watch()
  await pty.shows(/^ ✓ night · complete \d+s · \S+/m)
  await pty.shows('reviewed')
  pty.type('s')
  await pty.shows('The run has ended.')
  pty.type('R')
  await pty.shows('The run is complete: nothing to resume.')
  pty.type('kk')
  await pty.shows(/✓ run {20,}│ run \d{8}-/)
  await pty.shows(/spent .*2 iterations/)
  // A click selects and closes; the wheel selects in the tree.
  pty.type(`${ESC}[<0;5;3M${ESC}[<0;5;3m`)
  await pty.shows(/│ build 1\/9 · marker.*\n▸ ✓ build 1\/9/)
  pty.type(`${ESC}[<0;5;3M`)
  await pty.shows('▾ ✓ build 1/9')
  pty.type(`${ESC}[<65;5;3M${ESC}[<65;5;3M`)
  await pty.shows('│ review · exit 0')
  pty.type('?')
  await pty.shows('quit the view; the run continues')
  pty.type('x')
  await quit(pty)
})

test('four copies have their own rows and logs', async () => {
  const stage = new Stage({
    agent: sh('echo "I am copy ${FORKHESTRA_AGENT_NAME}"', until('go'), 'echo ORCHESTRA_COMPLETE'),
  })
  const run = stage.start('./agent:3*4')
  await run.printed('I am copy agent#4')
  await using pty = stage.watch({ columns: 100 })
  await pty.shows(/│ I am copy agent#\d$/m)
  for (const copy of [1, 2, 3, 4]) expect(pty.text).toMatch(new RegExp(`▾ . agent#${copy} 1/3`))
  pty.type('kkkkkkkkkjj')
  await pty.shows('I am copy agent#1')
  pty.type('jj')
  await pty.shows('I am copy agent#2')
  stage.go('go')
  await pty.shows(/✓ agent#4/)
  expect((await run.finished).code).toBe(0)
  await quit(pty)
})

test('rounds of a group, and sub-agents, are rows below their step', async () => {
  const stage = new Stage({
    build: sh('[ "$FORKHESTRA_AGENT_NAME" = lint ] && echo "I am the sub-agent" || echo built'),
    review: sh('[ -e again ] && echo ORCHESTRA_COMPLETE; touch again'),
  })
  const prompt = '/push name=lint Lint.\n/run\nBuild.'
  await stage.start('(./build -> ./review:1):3', '-p', prompt).finished
  await using pty = stage.watch()
  await pty.shows('▾ ✓ round 2/3')
  pty.type('kkkkkkkkkkkk')
  await pty.shows(/spent .*4 iterations/)
  pty.type('jjl')
  await pty.shows(/▸ ✓ round 1/)
  pty.type('jljl')
  await pty.shows(/✓ lint/)
  pty.type('j')
  await pty.shows('I am the sub-agent')
  expect(screen(pty).slice(0, 10)).toEqual([
    ' ✓ (./build -> ./review:1):3 · complete Ts · RUN',
    '  ✓ run                       │ sub-agent lint · done · Ts',
    '▾ ✓ round 2/3              Ts │ ── [log]  changes   prompt  ────────────────────',
    '  ▾ ✓ build                Ts │ I am the sub-agent',
    '    ▾ ✓ round 1               │ Task lint: done (T)',
    '      ▾ ✓ 1                Ts │',
    '          ✓ lint           Ts │',
    '    ▾ ✓ round 2               │',
    '      ▸ ✓ 1                Ts │',
    '  ▸ ✓ review 1/1           Ts │',
  ])
  await quit(pty)
})

test('keys stop a run after its iteration and resume it; the last key quits only the view', async () => {
  const stage = new Stage({
    agent: sh(
      'echo "iteration $FORKHESTRA_ITERATION"',
      until('go'),
      '[ -e done ] && echo ORCHESTRA_COMPLETE; exit 0',
    ),
  })
  const run = stage.start('./agent:5')
  await run.printed('iteration 1')
  await using pty = stage.watch()
  await pty.shows('│ iteration 1')
  pty.type('s')
  await pty.shows('The run will stop after this iteration.')
  await pty.shows('stopping after this iteration')
  stage.go('go')
  expect((await run.finished).code).not.toBe(0)
  await pty.shows(/^ ■ .* stopped/m)
  await Bun.file(join(stage.cwd, 'go')).delete()
  pty.type('Ry')
  await pty.shows('│ iteration 2')
  expect(pty.text).toMatch(/running \d+s/)
  pty.type('q')
  await pty.shows('The run continues. To watch it again: forkhestra watch ')
  stage.go('done', 'go')
  expect(await pty.exited).toBe(0)
  await pty.shows('Chain complete')
  await restored(pty)
})

test('keys end a wait and stop a run now', async () => {
  const stage = new Stage({
    'forge/orch/chains.json': JSON.stringify({
      agents: { build: { systemPromptText: 'Build.' } },
      chains: {},
    }),
    claude: sh(
      `if [ -e limited ]; then echo '${JSON.stringify({
        type: 'assistant',
        message: { id: '1', content: [{ type: 'text', text: 'Working again.' }] },
      })}'; ${until('never')}; fi`,
      'touch limited',
      `echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$(($(date +%s) + 7000))'}}'`,
      `echo '{"type":"result","subtype":"error","is_error":true,"result":"You have hit your limit"}'`,
      'exit 1',
    ),
  })
  const run = stage.start('build:3')
  await run.warned('Waiting for the limit')
  await using pty = stage.watch({ columns: 120 })
  await pty.shows(/now +waiting 1 h 5\d min for the limit/)
  pty.type('r')
  await pty.shows('Working again.')
  pty.type('S')
  await pty.shows('Interrupt the running agents')
  pty.type('y')
  expect((await run.finished).code).toBe(130)
  await pty.shows(/^ ■ .* stopped/m)
  await quit(pty)
})

test('--live shows the run, and at its end the plain summary', async () => {
  const stage = new Stage({ agent: sh('echo working', until('go'), 'echo ORCHESTRA_COMPLETE') })
  await using pty = stage.pty(['./agent:3', '--live'])
  await pty.shows(/│ working/)
  pty.type('\u0003')
  await pty.shows('stopping (SIGINT)')
  expect(await pty.exited).toBe(130)
  await pty.shows('To resume:')
  await restored(pty)
  stage.go('go')
  await using again = stage.pty(['./agent:3', '--live'])
  expect(await again.exited).toBe(0)
  await again.shows('Chain complete')
  await restored(again)
})

test('the screen leaves the terminal as it was', async () => {
  const stage = new Stage({ agent: sh('echo working', until('go')) })
  const run = stage.start('./agent')
  await run.printed('working')
  await using shell = new Pty(['sh', '-im'], { cwd: stage.cwd, env: { PS1: 'prompt> ' } })
  await shell.shows('prompt>')
  shell.type(`'${FORKHESTRA}' watch\n`)
  await shell.shows('│ working')
  shell.type('\u001a')
  await shell.shows('prompt>')
  expect(shell.leftBehind()).toEqual([])
  shell.type('fg\n')
  await shell.shows('│ working')
  shell.type('q')
  await restored(shell)
  shell.type('exit\n')
  await shell.exited
  for (const [end, code] of [
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    await using pty = stage.watch()
    await pty.shows('│ working')
    pty.signal(end)
    expect(await pty.exited).toBe(code)
    await restored(pty)
  }
  stage.go('go')
  expect((await run.finished).code).toBe(0)
})

test('output of agents moves nothing and sets nothing', async () => {
  const stage = new Stage({
    agent: sh(
      String.raw`printf 'one\033[2J\033[H\033[5;5Htwo\033]0;evil\007\033]52;c;ZXZpbA==\007three\033[?1049l\n'`,
      String.raw`printf '\033[31mred\033[0m \033[1A\033[999Cend\rover\n\tdeep\n'`,
      `printf 'wide ${'漢字'.repeat(13)}\\n\\300\\200\\n'`,
      until('go'),
    ),
  })
  const run = stage.start('./agent')
  await run.printed('deep')
  await using pty = stage.watch()
  await pty.shows('\ufffd\ufffd')
  expect(
    screen(pty)
      .slice(3, 9)
      .map((line) => line.slice(32)),
  ).toEqual([
    'onetwo^[]0;evil^G^[]52;c;ZXZpbA==^Gthree',
    'over',
    '    deep',
    'wide 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢',
    '字漢字漢字',
    '\ufffd\ufffd',
  ])
  expect(pty.lines.slice(1, 23).every((line) => line.indexOf('│') === 30)).toBe(true)
  stage.go('go')
  await run.finished
  await quit(pty)
})

test('chats and queues are runs as well', async () => {
  await using chat = await openNative([
    { text: 'I look.', tool: { name: 'bash', input: { command: 'echo 1' } } },
    { text: 'All is well.' },
  ])
  await pipe(chat, 'Look.\n', 'nat')
  await using talk = new Pty([FORKHESTRA, 'watch'], { cwd: chat.cwd })
  await talk.shows(/│ I look\.\n.*│ \[bash\] echo 1\n.*│ All is well\./)
  await quit(talk)
  const stage = new Stage({ sub: sh('echo "I do it"') })
  await forkhestra(['push', '--agent', './sub', '--name', 'lint', 'Lint.'], { cwd: stage.cwd })
  await forkhestra(['run-queue'], { cwd: stage.cwd })
  await using pty = stage.watch()
  await pty.shows(/^ ✓ queue · complete/)
  await pty.shows(/✓ lint .*│ ── \[log\].*\n.*│ I do it/)
  await quit(pty)
})

test('without a terminal, plain lines follow the run', async () => {
  const stage = new Stage({ agent: sh('echo working', until('go'), 'echo ORCHESTRA_COMPLETE') })
  const run = stage.start('./agent:2')
  await run.printed('working')
  const watch = stage.start('watch')
  await watch.printed('working')
  stage.go('go')
  const { code, stdout, stderr } = await watch.finished
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr:
      '[forkhestra] No terminal to draw on: printing plain lines, like forkhestra logs --follow\n',
  })
  expect(stdout).toContain('Chain complete')
  await run.finished
  const live = await forkhestra(['./agent:2', '--live'], { cwd: stage.cwd })
  expect(live.code).toBe(0)
  expect(live.stderr).toContain('No terminal for --live: printing plain lines')
})
