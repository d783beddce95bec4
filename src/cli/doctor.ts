import { constants } from 'node:os'
import type { Check } from '../host/doctor/check.ts'
import { examineMachine } from '../host/doctor/doctor.ts'
import { killStarted } from '../host/doctor/program.ts'
import { checkTerminal } from '../host/doctor/surroundings.ts'
import { isIgnored } from '../host/stop-switch.ts'
import { wrapLine } from '../views/terminal/columns.ts'
import type { Input } from './command.ts'
import { printResult } from './print.ts'
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
  const lines = [...checks.flatMap(renderCheck), '', summary(checks)]
  printResult(input, { ok: problems === 0, checks }, lines.join('\n'))
  return problems === 0 ? 0 : 1
}

function renderCheck({ name, state, text, next }: Check): string[] {
  const head = `${state.padEnd(9)}${name.padEnd(15)}`
  const lines = [...text.split('\n'), ...(next === undefined ? [] : [next])]
  const { columns } = process.stdout
  const rows = columns ? lines.flatMap((line) => wrapLine(line, columns - head.length)) : lines
  return rows.map((row, index) => `${index === 0 ? head : ' '.repeat(head.length)}${row}`)
}

function summary(checks: readonly Check[]): string {
  const count = (state: Check['state'], word: string) => {
    const number = checks.filter((check) => check.state === state).length
    return number === 0 ? [] : [`${number} ${number === 1 ? word : `${word}s`}`]
  }
  const parts = [...count('problem', 'problem'), ...count('warning', 'warning')]
  return parts.length === 0 ? 'All checks passed.' : `${parts.join(', ')}.`
}
