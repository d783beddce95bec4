import type { Refusal } from '../events/schema.ts'

/** What an agent's output says, in words that are the same for every engine. */
export type Fact =
  { readonly type: 'marker' } | { readonly type: 'marker_refused'; readonly why: Refusal }

/** Turns the bytes of one stream into facts; `end` tells what only the end can tell. */
export interface Decoder {
  push(bytes: Uint8Array): readonly Fact[]
  end(): readonly Fact[]
  /** Whether what came last is the marker, and only the end of its line has not come. */
  readonly isDoneIfSilent?: boolean
}

/** An agent after its name was resolved: everything an engine needs to call it, as plain data. */
export type ResolvedAgent = BinaryAgent

export interface BinaryAgent {
  readonly engine: 'binary'
  readonly name: string
  /** Absolute path of the program. */
  readonly program: string
  /** Program that interprets it, where the file itself names none. */
  readonly interpreter?: string
}

/** What changes from iteration to iteration. */
export interface Turn {
  readonly args: readonly string[]
  readonly prompt: string | undefined
  /** Whether the marker is looked for. */
  readonly loop: boolean
}

/** A process to start. Agents without a process of their own will be a second kind. */
export interface Launch {
  readonly kind: 'process'
  readonly argv: readonly string[]
  /** Added to the environment that every agent gets. */
  readonly env: Readonly<Record<string, string>>
  decode(stream: 'out' | 'err'): Decoder | undefined
}

/** How one kind of agent is called and how its output reads. Engines start nothing themselves. */
export interface Engine<Agent extends ResolvedAgent> {
  prepare(agent: Agent, turn: Turn): Launch
}
