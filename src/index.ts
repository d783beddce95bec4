// The library: a front end of the same code that the command line uses.
// A project that uses it checks these sources with its own options.
// oxlint-disable-next-line typescript/triple-slash-reference -- a file of ambient modules cannot be imported
/// <reference path="./chain/builtins/text-files.d.ts" />
export { UserError } from './base/errors.ts'
export type { OutputChunk } from './records/events/event.ts'
export type { Outcome, Reason, RunEvent } from './records/events/schema.ts'
export {
  getChain,
  loadConfig,
  substituteVars,
  type ForkhestraConfig,
} from './library/configuration.ts'
export {
  executeChain,
  run,
  type ChainOptions,
  type ChainResult,
  type DirectRunOptions,
  type RunOptions,
  type RunResult,
} from './library/execute.ts'
export {
  composeSystemPrompt,
  loadAgentSystemPrompt,
  readPromptFile,
  resolvePrompt,
  type PromptSources,
} from './library/prompts.ts'
export {
  openQueue,
  type Queue,
  type QueueListing,
  type QueueMessage,
  type QueueOptions,
  type QueueResult,
  type ReceiveOptions,
  type RunQueueOptions,
  type TaskOptions,
} from './library/queue.ts'
export { listRuns, readEvents, readRun, resume, type ResumeOptions } from './library/records.ts'
export {
  parseChain,
  parseDSL,
  type Chain,
  type ChainGroup,
  type ChainItem,
  type ChainStep,
  type Substituted,
} from './library/steps.ts'
export type { AgentConfig, ChainConfig, ChainsConfig } from './chain/parse/chains-schema.ts'
export { isDirectSpawnAgent, MODE_AWARENESS_PREFIX } from './chain/prompts/system-prompt.ts'

export type { Changes } from './tasks/text/changes.ts'
export { TaskDatabase, type OpenOptions } from './tasks/database.ts'
export type { Finding } from './tasks/doctor/check.ts'
export type { Filter, Listing } from './tasks/list.ts'
export type { NewTask } from './tasks/text/new-task.ts'
export type { Readiness } from './tasks/ready.ts'
export type { Stats } from './tasks/stats.ts'
export type { Task } from './tasks/task.ts'
export type { Brief } from './tasks/view.ts'
