import type { Fact, NativeAgent } from '../engines/engine.ts'
import { priceOf } from '../engines/prices.ts'
import { randomLetters } from '../base/ids.ts'
import { Conversation } from './conversation.ts'
import { History } from './conversation/history.ts'
import type { AgentIo } from './io.ts'
import { loadModel } from './models/load-model.ts'
import { describeSurroundings } from './surroundings.ts'
import { Seen } from './tools/seen.ts'
import { makeTools } from './tools/toolset.ts'

/** What a conversation begins with. */
export interface Opening {
  readonly agent: NativeAgent
  readonly systemPrompt: string
  /** By what it is recognised when it is to go on; with other words of the agent it is another one. */
  readonly about: string
  readonly scan?: ((text: string) => readonly Fact[]) | undefined
}

/** Begins a conversation, or takes up the one that is kept. */
export async function openConversation(opening: Opening, io: AgentIo): Promise<Conversation> {
  const { agent, systemPrompt, about, scan } = opening
  const { model: name, maxTurns, maxOutputTokens, prices } = agent
  const seen = new Seen()
  const [model, tools] = await Promise.all([loadModel(agent, io.env), makeTools(agent, seen, io)])
  const words = tools.map(({ name: tool, description, inputSchema }) => ({
    name: tool,
    description,
    inputSchema,
  }))
  const print = hashOf([name, systemPrompt, words, about, io.workplace.cwd])
  const system = `${systemPrompt}\n\n${describeSurroundings(io.workplace.cwd, new Date())}`
  const head = { id: `c-${randomLetters(16)}`, model: name, system, tools: words, print }
  const history = History.open(head, io.keeping, io.mayGoOn)
  for (const file of history.seen) seen.note(file)
  const price = priceOf(name, prices)
  return new Conversation({
    history,
    model,
    tools,
    seen,
    maxTurns,
    maxOutputTokens,
    price,
    io,
    scan,
  })
}

function hashOf(value: unknown): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(value)).digest('hex')
}
