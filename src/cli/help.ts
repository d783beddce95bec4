import { COMMON_OPTIONS, type Command } from './command.ts'

/** Examples first, because people look for those. `program` has more commands. */
export function renderHelp(command: Command, program?: string): string {
  return [
    command.summary,
    '',
    'Examples:',
    ...columns(command.examples),
    '',
    'Usage:',
    ...command.usage.map((line) => `  ${line}`),
    '',
    'Options:',
    ...columns(optionRows(command)),
    ...(program === undefined ? [] : ['', `More: ${program} --help`]),
  ].join('\n')
}

function optionRows({ options }: Command): [string, string][] {
  return Object.entries({ ...options, ...COMMON_OPTIONS }).map(([name, { short, value, help }]) => {
    const head = short === undefined ? `--${name}` : `-${short}, --${name}`
    return [value === undefined ? head : `${head} ${value}`, help]
  })
}

/** Two columns; the text for a long left side goes on the next line. */
export function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(44, Math.max(...rows.map(([left]) => left.length)))
  return rows.map(([left, right]) =>
    left.length > width
      ? `  ${left}\n  ${' '.repeat(width)}  ${right}`
      : `  ${left.padEnd(width)}  ${right}`,
  )
}
