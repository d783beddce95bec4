import { UserError } from '../../base/errors.ts'
import { BUILT_IN_AGENTS, BUNDLED_AGENTS, type BuiltInAgent } from '../builtins/agents.ts'
import { builtInTools } from '../../engines/claude/engine.ts'
import type { DirectAgent, ResolvedAgent } from '../../engines/engine.ts'
import { toolNames } from '../../engines/native/tool-sets.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { Template } from '../parse/template.ts'
import type { ReadPrompt } from '../prompts/choose.ts'
import { chooseSystemPrompt } from '../prompts/system-prompt.ts'

/** A system prompt that claims tasks belongs to a builder. */
const TAKES_TASKS =
  /(?:forge-tasks|forkhestra tasks)\s+next\b|mcp__(?:forge-tasks__|forkhestra__task_)next\b/
/** Lists ready tasks. Planners use --explain to check the order, so that does not count. */
const LOOKS_FOR_READY = /\b(?:list|ls)\s(?![^\n`]*--explain\b)[^\n`]*--ready\b/

/** Sets `finishesTasks` if the agent builds from forge-tasks. */
export function withTaskCheck<Agent extends ResolvedAgent>(
  agent: Agent,
  { tasks }: AgentConfig,
  args: readonly Template[],
  readPrompt: ReadPrompt,
): Agent {
  const { finishesTasks: own, ...rest } = agent
  // An agent with `--task` does only that task.
  const builds = !namesTask(args) && (tasks ?? (own === true || buildsFromTasks(agent, readPrompt)))
  return (builds ? { ...rest, finishesTasks: true } : rest) as Agent
}

function buildsFromTasks(agent: ResolvedAgent, readPrompt: ReadPrompt): boolean {
  if (agent.engine === 'binary') return false
  if (roleOf(agent)?.finishesTasks === true) return true
  // The bundled worker does a single task.
  if (agent.isBundled === true) return false
  const prompt = readOrNothing(agent, readPrompt)
  return TAKES_TASKS.test(prompt) || (LOOKS_FOR_READY.test(prompt) && changesCode(agent))
}

/** An unreadable system prompt is reported elsewhere. */
function readOrNothing({ systemPrompt }: DirectAgent, readPrompt: ReadPrompt): string {
  try {
    return chooseSystemPrompt(systemPrompt, readPrompt)
  } catch (error) {
    if (error instanceof UserError) return ''
    throw error
  }
}

/** A configured agent with the name of a built-in one has its role. */
function roleOf({ engine, name }: ResolvedAgent): BuiltInAgent | undefined {
  if (engine === 'binary') return undefined
  return [BUILT_IN_AGENTS, BUNDLED_AGENTS].find((agents) => Object.hasOwn(agents, name))?.[name]
}

export function takesTask(agent: ResolvedAgent): boolean {
  return roleOf(agent)?.takesTask === true
}

/** Whether an agent only turns requirements into tasks. */
export function plansTasks(agent: ResolvedAgent): boolean {
  return roleOf(agent)?.createsTasks === true
}

const EDITING = ['Write', 'Edit', 'MultiEdit', 'NotebookEdit']

/** Whether an agent can change code, so that gates apply to it. */
export function changesCode(agent: ResolvedAgent): boolean {
  if (agent.engine === 'binary') return true
  if (plansTasks(agent)) return false
  if (agent.engine === 'native') {
    return toolNames(agent, false).some((name) => name === 'write' || name === 'edit')
  }
  const { allowedTools, disallowedTools = [], permissionMode } = agent
  const denied = disallowedTools.map((tool) => tool.trim())
  const allowed = builtInTools(allowedTools ?? EDITING)
  return (
    permissionMode !== 'plan' &&
    EDITING.some((tool) => allowed.includes(tool) && !denied.includes(tool))
  )
}

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
  if (task?.trim() === '') throw new UserError('--task needs a task id', 'Use: --task TASK-001')
  return { task, rest }
}

export function taskPrompt(
  task: string | undefined,
  prompt: string | undefined,
): string | undefined {
  const about = task === undefined ? undefined : `Work only on task ${task}.`
  return [about, prompt].filter((part) => part !== undefined).join('\n\n') || undefined
}
