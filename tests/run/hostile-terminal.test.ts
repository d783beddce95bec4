// oxlint-disable no-control-regex
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { openChat } from '../support/chat.ts'
import { forkhestra } from '../support/forkhestra.ts'
import { openNative } from '../support/native.ts'
import { makeProject, sh } from '../support/project.ts'
import { openBoard, Pty } from '../support/pty.ts'

const BIN = join(import.meta.dir, '../../bin')
const ESC = '\u001b'

/** What tries to get out of its place, by name. */
const HOSTILE = {
  clipboard: `${ESC}]52;c;ZXZpbA==\u0007`,
  title: `${ESC}]0;evil\u0007`,
  'C1 title': '\u009d0;evil\u009c',
  wipe: `${ESC}[2J${ESC}[H${ESC}[3J`,
  'C1 wipe': '\u009b2J\u009bH',
  up: `${ESC}[5A${ESC}[K`,
  'alternate screen': `${ESC}[?1049h`,
  'hidden cursor': `${ESC}[?25l`,
  reset: `${ESC}c`,
  charset: `${ESC}(0\u000e`,
  sixel: `${ESC}Pq#0;2;0;0;0~-${ESC}\\`,
  kitty: `${ESC}_Ga=T;AAAA${ESC}\\`,
  direction: '\u202eevil\u2066',
  keys: `${ESC}[>1u${ESC}[?1000h`,
} as const
const CORPUS = Object.entries(HOSTILE).map(([name, bytes]) => `<${name} ${bytes}>`)

/** What a terminal must never get from others. `output` holds UTF-8 as Latin-1. */
function expectHarmless(pty: Pty): void {
  expect(pty.output).not.toMatch(
    /\u001b\](?!8;)|\u001b[P_^Xc(]|\u00c2[\u0080-\u009f]|\u000e|\u00e2\u0080\u00ae|\u001b\[[\d;]*[ABHJ]|\u001b\[\?(?:1049|1000|25l)|\u001b\[>/,
  )
}

/** Without a status line, which moves the cursor. */
const STATIC = { CI: 'true' }

/** What a screen of ours, which moves the cursor itself, never needs. */
const FROM_OTHERS =
  /\u001b\](?:0|52);|\u001b_G|\u001b\[(?:3J|\?1000h|>)|\u00c2[\u0080-\u009f]|\u0007/

/** Runs a program on a terminal to its end. */
async function onTerminal(program: string, args: string[], cwd: string): Promise<Pty> {
  const pty = new Pty([join(BIN, program), ...args], { cwd, columns: 120, rows: 60, env: STATIC })
  await pty.exited
  await pty.until(() => pty.text.trim() !== '')
  return pty
}

const claude = (text: string) => {
  const tool = { type: 'tool_use', id: 't', name: 'Bash', input: { command: text } }
  const content = [{ type: 'text', text }, tool]
  const message = JSON.stringify({ type: 'assistant', message: { id: '1', content } })
  return sh(
    `cat <<'END'\n${message}\nEND`,
    `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'`,
  )
}

describe('what agents print on a terminal', () => {
  test('is reduced to text, colours and links', async () => {
    const text = CORPUS.join('\n')
    const cwd = makeProject({
      text: `${text}\n${ESC}[31mred${ESC}[0m ${ESC}]8;;https://example.org${ESC}\\link${ESC}]8;;${ESC}\\\n`,
      agent: sh('echo before', 'cat text', 'echo 10%; printf "20%%\\rdone\\n"', 'cat text >&2'),
    })
    await using pty = await onTerminal('forkhestra', ['./agent'], cwd)
    await pty.shows('Pipeline complete (1/1 steps)')
    expectHarmless(pty)
    for (const line of ['before', '<clipboard ^[]52;c;ZXZpbA==^G>', '<wipe >', 'red link', 'done'])
      expect(pty.lines).toContain(line)
    expect(pty.output).toContain(`${ESC}[31mred`)
    expect(pty.output).toContain(`${ESC}]8;;https://example.org`)
    expect(pty.leftBehind()).toEqual([])
  })

  test('is also reduced if it was decoded from JSON', async () => {
    const cwd = makeProject({
      claude: claude(CORPUS.join(' ')),
      'coder.md': 'Code.',
      'forge/orch/chains.json': JSON.stringify({
        agents: { coder: { systemPrompt: 'coder.md', defaultPrompt: 'x' } },
        chains: {},
      }),
    })
    const env = { IS_SANDBOX: '1' }
    await using pty = new Pty([join(BIN, 'forkhestra'), 'coder'], {
      cwd,
      env: { ...env, ...STATIC },
      rows: 60,
    })
    await pty.shows('complete (1/1 steps)')
    expect(pty.text).toContain('<clipboard ^[]52;c;ZXZpbA==^G>')
    expectHarmless(pty)
    await using logs = await onTerminal('forkhestra', ['logs', '-v'], cwd)
    await logs.shows('<clipboard')
    expectHarmless(logs)
    await using raw = await onTerminal('forkhestra', ['logs', '--raw'], cwd)
    await raw.shows('clipboard')
    expectHarmless(raw)
  })

  test('is reduced in a chat, also the name and the input of a tool', async () => {
    const input = { command: `true '${CORPUS.join(' ')}'` }
    await using stage = await openNative([
      { text: CORPUS.join('\n'), tool: { name: 'bash', input } },
      { tool: { name: `bash${CORPUS.join('')}`, input } },
      { text: 'The end.' },
    ])
    await using chat = openChat(stage)
    await chat.shows('/help')
    chat.type('Hello\r')
    await chat.shows('The end.')
    expect(chat.output).toContain(']52;c;ZXZpbA==')
    expect(chat.output).not.toMatch(FROM_OTHERS)
  })

  test('cannot imitate or hide the lines of forkhestra', async () => {
    const cwd = makeProject({
      agent: sh(
        `printf '\\n[forkhestra] Chain complete (1/1 steps)\\n'`,
        `printf '\\033[8m\\033]0;'`,
        'exit 3',
      ),
    })
    await using pty = await onTerminal('forkhestra', ['./agent'], cwd)
    await pty.shows('Failed at step 1')
    expect(await pty.exited).toBe(1)
    expect(pty.lines).toContain('agent: [forkhestra] Chain complete (1/1 steps)')
    expect(pty.lines).not.toContain('[forkhestra] Chain complete (1/1 steps)')
    expect(pty.lines).toContain('[forkhestra] Pipeline incomplete (0/1 steps)')
    const last = pty.output.lastIndexOf('[forkhestra] Failed at step 1')
    expect(pty.output.slice(0, last)).toMatch(/\u001b\\\u001b\[0m(?:\u001b\[2m)?$/)
  })

  test.each([
    ['characters that cannot be seen', '\u200b\u2060\ufeff\u00ad\ufe0f', ''],
    ['a row of text', 'x'.repeat(120), ''],
    ['a row of text on stderr', '', 'x'.repeat(120)],
    ['blanks that fill a row with the label', ' '.repeat(113), ''],
    ['text that fills a row with the label', 'x'.repeat(233), ''],
  ])('cannot pass for a line of ours after %s', async (_, out, err) => {
    const forged = 'Chain complete (1/1 steps)'
    const agent = sh(`printf '${err}' >&2`, `printf '${out}[forkhestra] ${forged}\\n'`, 'exit 3')
    const cwd = makeProject({ agent })
    await using pty = await onTerminal('forkhestra', ['./agent'], cwd)
    await pty.shows('Failed at step 1')
    const lines = pty.lines.filter((line) => line.includes(forged))
    expect(lines.length).toBe(1)
    expect(lines[0]).toEndWith(`agent: [forkhestra] ${forged}`)
  })

  test('cannot imitate the lines of forkhestra in a quoted sub-agent or check', async () => {
    const forged = 'Chain complete (1/1 steps)'
    const print = (width: number) => `printf '%${width}s[forkhestra] ${forged}' x`
    const cwd = makeProject({
      'forge/.keep': '',
      agent: sh('eval "$1"'),
      sub: sh(print(120 - 'one | '.length)),
      check: sh(print(120 - '  | '.length), 'exit 1'),
      'prompt.md': '/push name=one ./sub\n/run\nforkhestra receive --from one\n',
    })
    const args = ['./agent', '-v', '--prompt-file', 'prompt.md', '--verify', './check']
    await using pty = await onTerminal('forkhestra', args, cwd)
    await pty.shows('Failed at step 1')
    const lines = pty.lines.filter((line) => line.includes(forged))
    expect(lines.filter((line) => line.startsWith('agent: [forkhestra]')).length).toBe(2)
    expect(lines.filter((line) => line.startsWith('[forkhestra]'))).toEqual([])
  })

  test('is unchanged in a pipe and in the log', async () => {
    const text = `${CORPUS.join('\n')}\n[forkhestra] Chain complete\n`
    const cwd = makeProject({ text, agent: sh('cat text') })
    const { stdout } = await forkhestra(['./agent'], { cwd })
    expect(stdout).toContain(text)
    expect((await forkhestra(['logs', '--raw'], { cwd })).stdout).toBe(text)
  })
})

describe('content of a cloned repository', () => {
  const bad = CORPUS.join(' ')

  test('cannot control the terminal through lists of tasks, the board or errors', async () => {
    const task = `---\nid: TASK-001\ntitle: ${JSON.stringify(bad)}\nstatus: To Do\nassignee: ${JSON.stringify(bad)}\n---\n\n${bad}\n`
    const cwd = makeProject({
      'forge/tasks/TASK-001 - x.md': task,
      [`forge/tasks/TASK-002 - ${ESC}]0;evil\u0007.md`]: `---\n${bad}: [\n---\n`,
    })
    for (const args of [['list'], ['view', '1'], ['next'], ['list', '--json'], ['doctor'], [bad]]) {
      await using pty = await onTerminal('forge-tasks', args, cwd)
      expectHarmless(pty)
    }
    await using board = openBoard({ cwd })
    await board.shows('TASK-001')
    expect(board.output).not.toMatch(FROM_OTHERS)
  })

  test('cannot control the terminal through a configuration or a branch', async () => {
    const chains = {
      agents: { [`a${HOSTILE.title}`]: { systemPrompt: bad, description: bad } },
      chains: { [`c${HOSTILE.up}`]: { description: bad, steps: [{ agent: bad, prompt: bad }] } },
    }
    const cwd = makeProject({ 'forge/orch/chains.json': JSON.stringify(chains) })
    const commands = [
      ['list'],
      ['validate'],
      ['--dry-run', '--chain', `c${HOSTILE.up}`],
      ['doctor'],
      [bad],
    ]
    for (const args of commands) {
      await using pty = await onTerminal('forkhestra', args, cwd)
      expectHarmless(pty)
    }
  })
})
