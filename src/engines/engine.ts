import type { Refusal } from '../events/schema.ts'

/** What an agent's output says, in words that are the same for every engine. */
export type Fact =
  | MarkerFact
  | BlockedFact
  | LastWordsFact
  | MessageFact
  | DeltaFact
  | ToolFact
  | ToolEndFact
  | SessionFact
  | LimitFact
  | UsageFact
  | FailureFact
  | NoticeFact

export type MarkerFact =
  { readonly type: 'marker' } | { readonly type: 'marker_refused'; readonly why: Refusal }

/** The agent says that it cannot go on, and why. */
export interface BlockedFact {
  readonly type: 'blocked'
  readonly reason: string
}

/** What the last words of an agent that speaks plain text mean, if it failed. */
interface LastWordsFact {
  readonly type: 'last_words'
  readonly failure: Failure
}

/** Words of the agent, or, with a `parent`, of a sub-agent that it called. */
interface MessageFact {
  readonly type: 'message'
  readonly text: string
  readonly parent?: string
  /** Where it goes on with what the message before it says: what stands between them. */
  readonly follows?: string
}

/** A piece of what is being said; the message repeats all of it. An empty one is a sign of life. */
interface DeltaFact {
  readonly type: 'delta'
  readonly text: string
}

/** A tool that is called, with what it is called for in a few words. */
interface ToolFact {
  readonly type: 'tool'
  readonly name: string
  readonly brief: string
  readonly parent?: string
}

/** What a call of a tool has come to, where the agent tells it. */
interface ToolEndFact {
  readonly type: 'tool_ended'
  readonly name: string
  readonly ms: number
  /** Why it did not do what it was called for. */
  readonly error?: string
  /** What it has changed, as a unified diff. */
  readonly diff?: string
}

interface SessionFact {
  readonly type: 'session'
  readonly id: string
  readonly model?: string
  /** Who pays: where it is a subscription, a cost is what the API would have taken. */
  readonly billing?: 'api' | 'subscription'
}

/** What is left of a quota. */
interface LimitFact {
  readonly type: 'limit'
  readonly status: string
  /** Seconds since 1970. */
  readonly resetsAt?: number
  readonly kind?: string
  /** From 0 to 1. */
  readonly utilization?: number
}

/** What it took so far; a later one replaces an earlier one. */
interface UsageFact {
  readonly type: 'usage'
  readonly turns?: number
  readonly costUsd?: number
  readonly tokens?: Tokens
  /** How many calls of tools nobody allowed. */
  readonly denied?: number
}

export interface Tokens {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

/** The agent says itself that it failed, whatever its exit code is. Undefined: it says that it did not. */
interface FailureFact {
  readonly type: 'failure'
  readonly failure: Failure | undefined
}

/** Something that a person should know at once. */
interface NoticeFact {
  readonly type: 'notice'
  readonly text: string
}

export interface Failure {
  readonly kind: 'error' | 'max_turns' | 'auth_failed' | 'overloaded' | 'rate_limited' | 'budget'
  readonly message: string
  /** Seconds since 1970, where a limit says when it is over. */
  readonly resetsAt?: number
}

/** Turns the bytes of one stream into facts; `end` tells what only the end can tell. */
export interface Decoder {
  push(bytes: Uint8Array): readonly Fact[]
  end(): readonly Fact[]
  /** Whether what came last is the marker, and only the end of its line has not come. */
  readonly isDoneIfSilent?: boolean
}

/** An agent after its name was resolved: everything an engine needs to call it, as plain data. */
export type ResolvedAgent = BinaryAgent | DirectAgent

/** An agent that is nothing but a system prompt and settings. */
export type DirectAgent = ClaudeAgent | NativeAgent

/** What holds for every agent. */
interface AnyAgent {
  readonly name: string
  /** Whether it builds from forge-tasks: its marker is believed only once no task is ready. */
  readonly finishesTasks?: boolean
}

export interface BinaryAgent extends AnyAgent {
  readonly engine: 'binary'
  /** Absolute path of the program. */
  readonly program: string
  /** Program that interprets it, where the file itself names none. */
  readonly interpreter?: string
}

/** What agents without a program of their own have in common, whoever plays them. */
interface DirectSettings extends AnyAgent {
  /** Of several the first that there is counts, anew at every iteration. */
  readonly systemPrompt: readonly (
    { readonly text: string } | { readonly file: string; readonly isOptional?: boolean }
  )[]
  readonly model: string
  readonly maxTurns: number
  readonly allowedTools?: readonly string[]
  readonly disallowedTools?: readonly string[]
  /** Where it is absent nobody is asked for permission. */
  readonly permissionMode?: string
  /** Whether it is also a program of ours, with arguments of its own. */
  readonly isBundled?: boolean
  /** Whether it gets the tools for queue and inbox. */
  readonly queue?: boolean
  /** Where a file of Claude Code defines it: its path, as people are told. */
  readonly file?: string
  /** Whether, as a sub-agent, it takes the model of whoever called it. */
  readonly inheritsModel?: boolean
}

/** One that `claude` plays. */
export interface ClaudeAgent extends DirectSettings {
  readonly engine: 'claude'
  /** Absolute path of `claude`. */
  readonly program: string
  /** Absolute paths. */
  readonly mcpConfig?: string
  readonly settings?: string
  /** False where the user's own settings of the coding CLI do not apply. */
  readonly userSettings?: boolean
}

/** One that this process plays itself; its model is written as `provider/id`. */
export interface NativeAgent extends DirectSettings {
  readonly engine: 'native'
  readonly provider: Provider
  /** Where the model is asked, if not where its provider is. */
  readonly baseUrl?: string
  /** The variable that holds the key, if not the usual one. */
  readonly apiKeyEnv?: string
  /** False where the model knows no tools. */
  readonly tools?: boolean
  /** Tokens of one answer. */
  readonly maxOutputTokens?: number
  /** What it costs, by model, where the configuration says so. */
  readonly prices?: Readonly<Record<string, Price>>
}

export type Provider = 'anthropic' | 'openai' | 'google' | 'compatible'

/** US dollars for a million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
}

/** What changes from iteration to iteration. */
export interface Turn {
  /** Where the agent is started: an absolute path. */
  readonly cwd: string
  readonly args: readonly string[]
  readonly prompt: string | undefined
  /** What the agent has read before it sees the prompt, in order. */
  readonly reads?: readonly FileRead[]
  /** For agents that have one. */
  readonly systemPrompt?: string
  /** Whether the marker is looked for. */
  readonly loop: boolean
  /** What the agent may spend at most, for engines that can see to it themselves. */
  readonly maxCostUsd?: number
  /** Where the agent gets queue and inbox as tools. */
  readonly queue?: QueueServer
}

/** Our own program as a server of tools, and what tells it for whom it acts. */
export interface QueueServer {
  readonly program: string
  readonly env: Readonly<Record<string, string>>
}

/** A file that was read for the agent: its path as it was written, and what came of it. */
export type FileRead = { readonly path: string } & (
  | { readonly ok: true; readonly text: string; readonly mtimeMs: number }
  | { readonly ok: false; readonly error: string }
)

/** How an agent is started. */
export type Launch = ProcessLaunch | LoopLaunch

/** A process to start. */
export interface ProcessLaunch {
  readonly kind: 'process'
  readonly argv: readonly string[]
  /** Added to the environment that every agent gets. */
  readonly env: Readonly<Record<string, string>>
  /** What the process reads; nothing where it is absent. */
  readonly stdin?: string
  /** Texts that go to files of their own; the path of each takes a place in argv. */
  readonly files?: readonly LaunchFile[]
  /** Whether people are shown the facts instead of the bytes of stdout. */
  readonly isStructured?: boolean
  decode(stream: 'out' | 'err'): Decoder | undefined
  /**
   * After a failure: what to start in its place, if the program does not know this way to be called,
   * or if its files could not be written.
   */
  instead?(hasNoFiles?: boolean): ProcessLaunch | undefined
}

/** A conversation that this process has with a model: no process, and facts instead of bytes. */
export interface LoopLaunch {
  readonly kind: 'loop'
  readonly agent: NativeAgent
  readonly turn: Turn
  /** What people are shown in place of a command. */
  readonly argv: readonly string[]
  readonly isStructured: true
}

export interface LaunchFile {
  readonly at: number
  readonly text: string
  /** Where its name matters. */
  readonly name?: string
}

/** How one kind of agent is called and how its output reads. Engines start nothing themselves. */
export interface Engine<Agent extends ResolvedAgent, Made extends Launch = ProcessLaunch> {
  prepare(agent: Agent, turn: Turn): Made
}
