import { COMMON_OPTIONS, type Command } from './command.ts'

/** Examples first: that is what people look for. */
export function renderHelp(name: string, command: Command): string {
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
    ...(name === '' ? [] : ['', `More: ${programOf(command)} --help`]),
  ].join('\n')
}

/** The usage begins with the name of the program. */
function programOf({ usage }: Command): string {
  return usage[0]?.split(' ', 1)[0] ?? 'forkhestra'
}

function optionRows({ options }: Command): [string, string][] {
  return Object.entries({ ...options, ...COMMON_OPTIONS }).map(([name, { short, value, help }]) => {
    const head = short === undefined ? `--${name}` : `-${short}, --${name}`
    return [value === undefined ? head : `${head} ${value}`, help]
  })
}

/** Two columns; a long left side pushes its text to the next line. */
export function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(44, Math.max(...rows.map(([left]) => left.length)))
  return rows.map(([left, right]) =>
    left.length > width
      ? `  ${left}\n  ${' '.repeat(width)}  ${right}`
      : `  ${left.padEnd(width)}  ${right}`,
  )
}
