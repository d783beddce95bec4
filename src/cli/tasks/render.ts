import { isTerminal } from '../../base/linux/is-terminal.ts'
import { briefToJson, plainLine, renderBrief, renderTitle } from '../../tasks/render.ts'
import type { Task } from '../../tasks/task.ts'
import type { Brief } from '../../tasks/view.ts'
import { renderTable } from '../../views/table.ts'
import type { Input } from '../command.ts'
import { quoteOurLines } from '../quote-forged.ts'
import { print } from '../print.ts'

export function printTasks(tasks: readonly Task[], input: Input): void {
  print((input.flag('plain') ? tasks.map(plainLine) : tableLines(tasks)).join('\n'))
}

function tableLines(tasks: readonly Task[]): string[] {
  const now = new Date()
  const rows = tasks.map((task) => {
    const { id, status, priority = '', assignee = '' } = task
    return [id, status, priority, assignee, renderTitle(task, now)]
  })
  return renderTable(rows)
}

export function printBrief(brief: Brief, input: Input): void {
  if (input.flag('json')) return print(JSON.stringify(briefToJson(brief)))
  const text = renderBrief(brief)
  print(isTerminal(1) ? quoteOurLines(text) : text)
}
