import builder from './prompts/builder.md' with { type: 'text' }
import coordinator from './prompts/forge-task-coordinator.md' with { type: 'text' }
import manager from './prompts/forge-task-manager.md' with { type: 'text' }
import worker from './prompts/forge-task-worker.md' with { type: 'text' }
import planner from './prompts/planner.md' with { type: 'text' }
import reviewer from './prompts/reviewer.md' with { type: 'text' }
import { SPECS_DESCRIPTIONS, type SpecsFolder } from './specs.ts'

/** An agent that needs no configuration. */
export interface BuiltInAgent {
  /** The complete system prompt. */
  readonly prompt: string
  /** A file of the project that replaces the prompt, if it exists. */
  readonly override: string
  readonly model: string
  readonly maxTurns: number
  readonly allowedTools?: readonly string[]
  readonly specs: SpecsFolder
  /** It cannot start without specs. */
  readonly plans?: boolean
  /** It turns requirements into tasks and does not change code. */
  readonly createsTasks?: boolean
  /** Its marker counts only when no task is ready. */
  readonly finishesTasks?: boolean
  /** It does one task: the one named in its prompt, or the first that is ready. */
  readonly takesTask?: boolean
}

const PROMPTS_FOLDER = 'forge/orch/prompts'

function make(
  file: string,
  template: string,
  more: Omit<BuiltInAgent, 'prompt' | 'override' | 'model'>,
): BuiltInAgent {
  const prompt = template.replaceAll('{{specs}}', SPECS_DESCRIPTIONS[more.specs])
  return { prompt, override: `${PROMPTS_FOLDER}/${file}.md`, model: 'sonnet', ...more }
}

/** Agents with a prefix read the specs in `ralph/`. */
function makeAgents(prefix: '' | 'fk:', specs: SpecsFolder): Record<string, BuiltInAgent> {
  const folder = prefix.replace(':', '/')
  return {
    [`${prefix}planner`]: make(`${folder}planner`, planner, {
      maxTurns: 50,
      allowedTools: ['Read', 'Grep', 'Glob', 'Bash'],
      specs,
      plans: true,
      createsTasks: true,
    }),
    [`${prefix}builder`]: make(`${folder}builder`, builder, {
      maxTurns: 100,
      specs,
      finishesTasks: true,
    }),
    [`${prefix}reviewer`]: make(`${folder}reviewer`, reviewer, { maxTurns: 50, specs }),
  }
}

/** They take precedence over programs of the same name on PATH. */
export const BUILT_IN_AGENTS: Readonly<Record<string, BuiltInAgent>> = {
  ...makeAgents('', 'forge/orch/specs'),
  ...makeAgents('fk:', 'ralph'),
}

const bundled = (name: string, template: string, more: Partial<BuiltInAgent> = {}) =>
  make(name, template, { maxTurns: 100, specs: 'forge/orch/specs', ...more })

const taskManager = bundled('forge-task-manager', manager, { createsTasks: true })
const taskCoordinator = bundled('forge-task-coordinator', coordinator, { finishesTasks: true })
const taskWorker = bundled('forge-task-worker', worker, { takesTask: true })

/** Programs in this binary, used if PATH has none of that name. */
export const BUNDLED_AGENTS: Readonly<Record<string, BuiltInAgent>> = {
  'forge-task-manager': taskManager,
  'forge-task-coordinator': taskCoordinator,
  'forge-task-worker': taskWorker,
  'task-manager': taskManager,
  'task-coordinator': taskCoordinator,
  'task-worker': taskWorker,
}

/** The embedded prompts by the path of the file that would replace each. */
export function promptFiles(): ReadonlyMap<string, string> {
  const agents = [...Object.values(BUILT_IN_AGENTS), ...Object.values(BUNDLED_AGENTS)]
  return new Map(agents.map(({ override, prompt }) => [override, prompt]))
}
