import { constants } from 'node:os'
import type { Check } from '../host/doctor/check.ts'
import { examineMachine } from '../host/doctor/doctor.ts'
import { killStarted } from '../host/doctor/program.ts'
import { checkTerminal } from '../host/doctor/surroundings.ts'
import { isIgnored } from '../host/stop-switch.ts'
import { printable } from '../base/terminal/printable.ts'
import { wrapAt, type Layout } from '../views/layout.ts'
import type { Input } from './command.ts'
import { print, printPainted, stdoutLayout } from './print.ts'
import { configPath, projectOf } from './front-end.ts'

/** The command `doctor`: exit code 1 if something would prevent a run. */
export async function runDoctor(input: Input): Promise<number> {
  // Before our own signal handlers are installed.
  const terminal = checkTerminal(process.stdout, process.env, isIgnored('SIGHUP'))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      killStarted()
      process.exit(128 + constants.signals[signal])
    })
  }
  const project = projectOf(input)
  const found = await examineMachine(project, configPath(input, project), process.env)
  const checks = [...found, terminal]
  const problems = checks.filter(({ state }) => state === 'problem').length
  if (input.flag('json')) print(JSON.stringify({ ok: problems === 0, checks }))
  else printPainted(renderChecks(checks, input.flag('failed'), stdoutLayout()))
  return problems === 0 ? 0 : 1
}

function renderChecks(checks: readonly Check[], onlyFailed: boolean, layout: Layout): string[] {
  const shown = checks.filter(({ state }) => !onlyFailed || state !== 'ok')
  const head = layout.width === undefined || shown.length === 0 ? [] : [layout.paint.dim(HEAD)]
  const lines = shown.flatMap((check) => renderCheck(check, layout))
  const gap = lines.length === 0 ? [] : ['']
  return [...head, ...lines, ...gap, summary(checks)]
}

const [STATE_WIDTH, NAME_WIDTH] = [9, 15]
const HEAD = `${'state'.padEnd(STATE_WIDTH)}${'check'.padEnd(NAME_WIDTH)}result`
const LOOKS = { ok: 'green', warning: 'yellow', problem: 'red' } as const

function renderCheck({ name, state, text, next }: Check, { width, paint }: Layout): string[] {
  const indent = STATE_WIDTH + NAME_WIDTH
  const lines = [...text.split('\n'), ...(next === undefined ? [] : [next])].map(printable)
  const rows = lines.flatMap((line) =>
    width === undefined ? [line] : wrapAt(line, width - indent, false),
  )
  const head = `${paint[LOOKS[state]](state)}${' '.repeat(STATE_WIDTH - state.length)}${name.padEnd(NAME_WIDTH)}`
  return rows.map((row, index) => `${index === 0 ? head : ' '.repeat(indent)}${row}`)
}

function summary(checks: readonly Check[]): string {
  const count = (state: Check['state'], word: string) => {
    const number = checks.filter((check) => check.state === state).length
    return number === 0 ? [] : [`${number} ${number === 1 ? word : `${word}s`}`]
  }
  const parts = [...count('problem', 'problem'), ...count('warning', 'warning')]
  return parts.length === 0 ? 'All checks passed.' : `${parts.join(', ')}.`
}
