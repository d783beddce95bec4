import { isTerminal } from '../../base/terminal/is-terminal.ts'
import { printable } from '../../base/terminal/printable.ts'
import { briefToJson, plainLine, renderBrief, renderTitle } from '../../tasks/render.ts'
import type { Task } from '../../tasks/task.ts'
import type { Brief } from '../../tasks/view.ts'
import type { Input } from '../command.ts'
import { quoteOurLines } from '../quote-forged.ts'
import { print } from '../print.ts'

export function printTasks(tasks: readonly Task[], input: Input): void {
  print(input.flag('plain') ? tasks.map(plainLine).join('\n') : renderTable(tasks))
}

function renderTable(tasks: readonly Task[]): string {
  const now = new Date()
  const rows = tasks.map((task) => [
    task.id,
    task.status,
    task.priority ?? '',
    printable(task.assignee ?? ''),
    renderTitle(task, now),
  ])
  const widths = [0, 1, 2, 3].map((column) => {
    return Math.max(0, ...rows.map((row) => Bun.stringWidth(row[column] ?? '')))
  })
  return rows
    .map((row) => {
      const cells = row.slice(0, 4).map((cell, column) => padEnd(cell, widths[column] ?? 0))
      return `${cells.filter((_, column) => widths[column]! > 0).join('  ')}  ${row[4]}`
    })
    .join('\n')
}

function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - Bun.stringWidth(text)))
}

export function printBrief(brief: Brief, input: Input): void {
  if (input.flag('json')) return print(JSON.stringify(briefToJson(brief)))
  const text = renderBrief(brief)
  print(isTerminal(1) ? quoteOurLines(text) : text)
}
