import type { BudgetSpent, Refusal } from '../records/events/schema.ts'

/** What an agent's output says, in terms that all engines share. */
export type Fact =
  | MarkerFact
  | BlockedFact
  /** A known failure message at the end of plain output; it counts only if the agent failed. */
  | { readonly type: 'printed_failure'; readonly failure: Failure }
  /**
   * Text of the agent or, with a `parent`, of a sub-agent that it called. `follows` is set if it
   * continues the previous message: the text that joins the two.
   */
  | {
      readonly type: 'message'
      readonly text: string
      readonly parent?: string
      readonly follows?: string
    }
  /** A piece of a message that is still streaming; an empty one only shows that the agent is alive. */
  | { readonly type: 'delta'; readonly text: string }
  /** A tool call, with its purpose in a few words. */
  | {
      readonly type: 'tool'
      readonly name: string
      readonly brief: string
      readonly parent?: string
    }
  /** The end of a tool call, for engines that report it; `diff` is its change as a unified diff. */
  | {
      readonly type: 'tool_ended'
      readonly name: string
      readonly ms: number
      readonly error?: string
      readonly diff?: string
      readonly parent?: string
    }
  /** With a subscription, costs are what the API would have charged. */
  | {
      readonly type: 'session'
      readonly id: string
      readonly model?: string
      readonly billing?: 'api' | 'subscription'
    }
  | LimitFact
  /** Usage so far, which replaces an earlier fact; `denied` counts tool calls. */
  | {
      readonly type: 'usage'
      readonly turns?: number
      readonly costUsd?: number
      readonly tokens?: Tokens
      readonly denied?: number
    }
  /** The agent's own report about failure, which overrides its exit code; undefined means success. */
  | { readonly type: 'failure'; readonly failure: Failure | undefined }
  /** A note to show to the user at once. */
  | { readonly type: 'notice'; readonly text: string }

/**
 * `isInOpenFence`: in a code fence that was never closed; counts only if the agent was not interrupted there.
 */
export type MarkerFact =
  | { readonly type: 'marker'; readonly isInOpenFence?: true }
  | { readonly type: 'marker_refused'; readonly why: Refusal }

/** The agent reports that it cannot continue, and why. */
export interface BlockedFact {
  readonly type: 'blocked'
  readonly reason: string
  readonly isInOpenFence?: true
}

/** The state of a usage limit. */
export interface LimitFact {
  readonly type: 'limit'
  readonly status: string
  /** Seconds since 1970. */
  readonly resetsAt?: number
  readonly kind?: string
  /** From 0 to 1. */
  readonly utilization?: number
}

export interface Tokens {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

export interface Failure {
  readonly kind: 'error' | 'max_turns' | 'auth_failed' | 'overloaded' | 'rate_limited' | 'budget'
  readonly message: string
  /** Seconds since 1970, if the limit names its reset time. */
  readonly resetsAt?: number
  readonly cause?: 'context_full' | 'unknown_model'
  /** The limit of a budget; coding CLIs only know the cost. */
  readonly limit?: BudgetSpent['limit']
}

/** Turns the bytes of one stream into facts; `end` returns those that only the end reveals. */
export interface Decoder {
  push(bytes: Uint8Array): readonly Fact[]
  end(): readonly Fact[]
  /** Whether the output ends with the marker and only its line end is missing. */
  readonly isDoneIfSilent?: boolean
}

/** An agent whose name was resolved: all that an engine needs to call it, as plain data. */
export type ResolvedAgent = BinaryAgent | DirectAgent

/** An agent defined by a system prompt and settings alone. */
export type DirectAgent = ClaudeAgent | NativeAgent

interface AnyAgent {
  readonly name: string
  /** Whether it builds from forge-tasks: its marker counts only when no task is ready. */
  readonly finishesTasks?: boolean
}

export interface BinaryAgent extends AnyAgent {
  readonly engine: 'binary'
  /** Absolute path of the program. */
  readonly program: string
  /** The interpreter, if the file itself names none. */
  readonly interpreter?: string
}

/** Settings that all engines for direct agents share. */
interface DirectSettings extends AnyAgent {
  /** The first one that exists is used; checked in every iteration. */
  readonly systemPrompt: readonly (
    { readonly text: string } | { readonly file: string; readonly isOptional?: boolean }
  )[]
  readonly model: string
  readonly maxTurns: number
  readonly allowedTools?: readonly string[]
  readonly disallowedTools?: readonly string[]
  /** Absent: tools run without permission checks. */
  readonly permissionMode?: string
  /** Whether it is also a program of the binary, with its own arguments. */
  readonly isBundled?: boolean
  /** Whether it gets the queue and inbox tools. */
  readonly queue?: boolean
  /** The displayed path of the Claude Code agent file that defines it. */
  readonly file?: string
  /** Whether, as a sub-agent, it uses the model of its parent. */
  readonly inheritsModel?: boolean
}

export interface ClaudeAgent extends DirectSettings {
  readonly engine: 'claude'
  /** Absolute path of `claude`. */
  readonly program: string
  /** Absolute paths. */
  readonly mcpConfig?: string
  readonly settings?: string
  /** False if the user's own settings of the coding CLI do not apply. */
  readonly userSettings?: boolean
}

/** An agent that this process runs itself; its model is written as `provider/id`. */
export interface NativeAgent extends DirectSettings {
  readonly engine: 'native'
  readonly provider: Provider
  /** Overrides the address of the provider. */
  readonly baseUrl?: string
  /** Overrides the environment variable that holds the key. */
  readonly apiKeyEnv?: string
  /** False if the model does not support tools. */
  readonly tools?: boolean
  /** Limit of one answer. */
  readonly maxOutputTokens?: number
  /** Configured prices by model. */
  readonly prices?: Readonly<Record<string, Price>>
}

export type Provider = 'anthropic' | 'openai' | 'google' | 'compatible'

/** US dollars per million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
}

/** What changes from iteration to iteration. */
export interface Turn {
  /** Absolute path of the folder in which the agent starts. */
  readonly cwd: string
  readonly args: readonly string[]
  readonly prompt: string | undefined
  /** Files to pass before the prompt, in order. */
  readonly reads?: readonly FileRead[]
  readonly systemPrompt?: string
  /** Whether to look for the marker. */
  readonly loop: boolean
  /** The budget of the agent, for engines that can enforce it themselves. */
  readonly maxCostUsd?: number
  /** Set if the agent gets the queue and inbox tools. */
  readonly queue?: QueueServer
}

/** forkhestra as an MCP server; `env` identifies the agent for which it acts. */
export interface QueueServer {
  readonly program: string
  readonly env: Readonly<Record<string, string>>
}

/** A file that was read for the agent: its path as written, and its text or an error. */
export type FileRead = { readonly path: string } & (
  | { readonly ok: true; readonly text: string; readonly mtimeMs: number }
  | { readonly ok: false; readonly error: string }
)

export type Launch = ProcessLaunch | LoopLaunch

export interface ProcessLaunch {
  readonly kind: 'process'
  readonly argv: readonly string[]
  /** Added to the environment of all agents. */
  readonly env: Readonly<Record<string, string>>
  /** Absent: stdin is empty. */
  readonly stdin?: string
  /** Texts to write to files; the path of each replaces an element of argv. */
  readonly files?: readonly LaunchFile[]
  /** Whether views show facts instead of the bytes of stdout. */
  readonly isStructured?: boolean
  decode(stream: 'out' | 'err'): Decoder | undefined
  /** Another launch to try if the program refuses this one, or its files cannot be written. */
  fallback?(hasNoFiles?: boolean): ProcessLaunch | undefined
}

/** A conversation of this process with a model: it starts no process and yields facts. */
export interface LoopLaunch {
  readonly kind: 'loop'
  readonly agent: NativeAgent
  readonly turn: Turn
  /** Shown instead of a command. */
  readonly argv: readonly string[]
  readonly isStructured: true
}

export interface LaunchFile {
  readonly at: number
  readonly text: string
  /** Set if the file name matters. */
  readonly name?: string
}

/** How one kind of agent is called and how its output is read. Engines start nothing themselves. */
export interface Engine<Agent extends ResolvedAgent, Made extends Launch = ProcessLaunch> {
  prepare(agent: Agent, turn: Turn): Made
  /** Agents with the same scope share usage limits. */
  limitScope(agent: Agent): string
  /** The agent with another model; throws a `UserError` if the engine cannot use the model. */
  withModel(agent: Agent, model: string): Agent
  /** The tools that a dry run shows; undefined if there is nothing to show. */
  describeTools(agent: Agent, hasQueue: boolean): string | undefined
}
