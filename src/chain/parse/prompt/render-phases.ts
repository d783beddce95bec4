import { findEdges, isBlank, isCommand, isLiteral } from './parse-command.ts'
import type { Phases, PushCommand, SetupCommand } from './phases.ts'

/** Renders a prompt that parses to the same phases, except for blank lines around the content. */
export function renderPhases({ setup, content, teardown }: Phases): string {
  return [
    ...setup.map(renderCommand),
    ...(content === '' ? [] : [withEscapes(content)]),
    ...teardown.map(renderCommand),
  ].join('\n')
}

function renderCommand(command: SetupCommand): string {
  switch (command.kind) {
    case 'read':
      return `/read ${quote(command.path)}`
    case 'run':
      return ['/run', command.count ?? [], option('parallel', command.parallel)].flat().join(' ')
    case 'push':
      return renderPush(command)
  }
}

function renderPush(task: PushCommand): string {
  const { name, agent, model, timeoutMs, retry, isolation, on, onParentEnd, prompt } = task
  const options = [
    option('name', name),
    option('agent', agent),
    option('model', model),
    option('timeout', timeoutMs === undefined ? undefined : `${timeoutMs}ms`),
    option('retry', retry),
    option('isolation', isolation),
    option('on', on),
    option('on_parent_end', onParentEnd),
  ]
  return ['/push', ...options.flat(), quote(prompt)].join(' ')
}

function option(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [`${name}=${quote(String(value))}`]
}

function quote(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('"', '\\"')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
  return `"${escaped}"`
}

/** Escapes the lines at both ends that would be commands, or would lose a slash. */
function withEscapes(content: string): string {
  const lines = content.split('\n')
  const isSpecial = (line: string) => isCommand(line) || isLiteral(line)
  const { first, last } = findEdges(lines, (line) => !isBlank(line) && !isSpecial(line))
  return lines
    .map((line, index) => ((index < first || index > last) && isSpecial(line) ? `/${line}` : line))
    .join('\n')
}
