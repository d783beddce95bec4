import { UserError } from '../../base/errors.ts'
import type { Template } from '../parse/template.ts'

const TASK = '--task'

/** Whether the arguments contain `--task ID` or `--task=ID`. */
export function namesTask(args: readonly Template[]): boolean {
  return args.some(([word]) => typeof word === 'string' && isTaskArgument(word))
}

function isTaskArgument(word: string): boolean {
  return word === TASK || word.startsWith(`${TASK}=`)
}

/** Separates our own arguments, such as `--task`, from those for the coding CLI. */
export function readOwnArgs(
  args: readonly string[],
  isBundled: boolean,
): {
  readonly task: string | undefined
  /** For the coding CLI. */
  readonly rest: readonly string[]
} {
  const rest: string[] = []
  let task: string | undefined
  for (let at = 0; at < args.length; at++) {
    const word = args[at]!
    if (word === TASK) task = args[++at] ?? ''
    else if (isTaskArgument(word)) task = word.slice(TASK.length + 1)
    else if (!isBundled || (word !== '--print' && word !== '-p')) rest.push(word)
  }
  if (task?.trim() === '') throw new UserError('--task has no task id', 'Write: --task TASK-001')
  return { task, rest }
}

/** The prompt of a worker. */
export function taskPrompt(
  task: string | undefined,
  prompt: string | undefined,
): string | undefined {
  const about = task === undefined ? undefined : `Work on the task ${task} and on no other.`
  return [about, prompt].filter((part) => part !== undefined).join('\n\n') || undefined
}
