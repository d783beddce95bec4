import { expect, test } from 'bun:test'
import { FORKHESTRA, forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { Pty } from '../support/pty.ts'

const LONG = 'a step with a name that does not fit into the rest of a line at all'

/** A project with a complete and a failed run. */
async function makeRuns(): Promise<string> {
  const chains = {
    good: {
      description: `Run ${LONG}, and a description that is even longer`,
      steps: [{ agent: './good' }],
    },
    bad: { steps: [{ agent: './good' }, { agent: './bad', name: LONG, iterations: 3 }] },
  }
  const cwd = makeProject({
    'forge/orch/chains.json': JSON.stringify({ chains }),
    good: sh('true'),
    bad: sh('exit 3'),
  })
  for (const chain of ['good', 'bad']) await forkhestra(['--chain', chain], { cwd })
  return cwd
}

interface Screen {
  readonly lines: readonly string[]
  /** As it was written, with escape sequences. */
  readonly output: string
}

async function onTerminal(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Screen> {
  await using pty = new Pty([FORKHESTRA, ...args], { cwd, columns: 80, rows: 60, env })
  await pty.exited
  await pty.until(() => pty.text.trim() !== '')
  return { lines: pty.lines.filter((line) => line !== ''), output: pty.output }
}

const RED = '\u001b[31m'

test('lists have a header on a terminal, fit into 80 columns and break no words', async () => {
  const cwd = await makeRuns()
  const words = new Set(LONG.split(' '))
  for (const [args, head] of [
    [['runs'], /^run +status +started +time +chain$/],
    [['cost', '--by', 'step'], /^step +iterations +time$/],
    [['list'], /^Chains in forge\/orch\/chains\.json:$/],
    [['doctor'], /^state +check +result$/],
    [['show'], /^Run .*: failed \(exit code 1\)$/],
  ] as const) {
    const { lines, output } = await onTerminal(cwd, args)
    expect(lines[0]).toMatch(head)
    const written = Bun.stripANSI(output).split('\r\n')
    expect(written.filter((line) => Bun.stringWidth(line) > 80 && /\w \w/.test(line))).toEqual([])
    const shown = new Set(written.flatMap((line) => line.split(/[\s,:()]+/)))
    if (output.includes('a step')) expect([...words].filter((word) => !shown.has(word))).toEqual([])
  }
})

test('colours are for terminals, and follow NO_COLOR and --color', async () => {
  const cwd = await makeRuns()
  expect((await onTerminal(cwd, ['runs'])).output).toContain(`${RED}failed`)
  const plain = await onTerminal(cwd, ['runs'], { NO_COLOR: '1' })
  expect(plain.output).not.toContain('\u001b[')
  expect((await onTerminal(cwd, ['runs', '--color', 'never'])).output).not.toContain('\u001b[')
  const piped = async (...args: string[]) => (await forkhestra(['runs', ...args], { cwd })).stdout
  expect(await piped()).not.toContain('\u001b')
  expect(await piped('--color', 'always')).toContain(`${RED}failed`)
  const refused = await forkhestra(['runs', '--color', 'often'], { cwd })
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('always, auto')])
})

test('runs are filtered and sorted', async () => {
  const cwd = await makeRuns()
  const chains = async (...args: string[]) => {
    const { stdout } = await forkhestra(['runs', '--json', ...args], { cwd })
    return JSON.parse(stdout).runs.map(({ chain }: { chain: string }) => chain)
  }
  expect(await chains()).toEqual(['bad', 'good'])
  expect(await chains('--failed')).toEqual(['bad'])
  expect(await chains('--chain', 'good')).toEqual(['good'])
  expect(await chains('--since', '1h', '--sort', 'time')).toHaveLength(2)
  expect(await chains('--since', '1ms')).toEqual([])
  const none = await forkhestra(['runs', '--chain', 'other'], { cwd })
  expect([none.code, none.stdout]).toEqual([0, 'No run matches; all runs: forkhestra runs\n'])
  const cost = await forkhestra(['cost', '--chain', 'good', '--json'], { cwd })
  expect(JSON.parse(cost.stdout).total.iterations).toBe(1)
  const doctor = await forkhestra(['doctor', '--failed'], { cwd })
  expect(doctor.stdout).not.toMatch(/^ok /m)
  for (const args of [
    ['--sort', 'name'],
    ['--since', 'monday'],
  ])
    expect((await forkhestra(['runs', ...args], { cwd })).code).toBe(2)
})
