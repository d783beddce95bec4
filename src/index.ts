// The library: thin doors to the code that the command line uses.
export { UserError } from './base/errors.ts'
export type { OutputChunk } from './events/event.ts'
export type { Outcome, Reason, RunEvent } from './events/schema.ts'
export {
  getChain,
  loadConfig,
  substituteVars,
  type Chain,
  type Substituted,
} from './library/configuration.ts'
export {
  executeChain,
  run,
  type ChainOptions,
  type ChainResult,
  type RunOptions,
  type RunResult,
} from './library/execute.ts'
export { readPromptFile, resolvePrompt, type PromptSources } from './library/prompts.ts'
export { parseDSL, type ChainStep } from './library/steps.ts'
export type { AgentConfig, ChainConfig, ChainsConfig } from './parse/chains-schema.ts'
export {
  composeSystemPrompt,
  isDirectSpawnAgent,
  loadAgentSystemPrompt,
  MODE_AWARENESS_PREFIX,
} from './prompt/mode-awareness.ts'

export type { Changes } from './tasks/text/changes.ts'
export { TaskDatabase, type OpenOptions } from './tasks/database.ts'
export type { Finding } from './tasks/doctor/finding.ts'
export type { Filter, Listing } from './tasks/list.ts'
export type { NewTask } from './tasks/text/new-task.ts'
export type { Readiness } from './tasks/ready.ts'
export type { Stats } from './tasks/stats.ts'
export type { Task } from './tasks/task.ts'
export type { Brief } from './tasks/view.ts'
