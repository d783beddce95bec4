import { join } from 'node:path'
import type { Environment } from '../../base/environment.ts'
import { readTextFile, realPathOf } from '../../base/files.ts'
import { repositoryTop } from '../../base/repository.ts'
import { findForeignLink, isLink } from '../../base/tracked.ts'
import type { NativeAgent } from '../engine.ts'
import { priceOf } from '../prices.ts'
import { randomLetters } from '../../base/ids.ts'
import { CONVERSATION_HEADER } from '../../base/scripted-model.ts'
import { Conversation, type Scanner } from './conversation.ts'
import { History } from './conversation/history.ts'
import type { AgentIo } from './io.ts'
import { isScripted, loadModel } from './models/load-model.ts'
import { makeFileTools } from './tools/file-tools.ts'
import { makeQueueTools } from './tools/queue-tools.ts'
import { SeenFiles } from './tools/seen.ts'
import type { AgentTool } from './tools/tool.ts'
import { toolNames } from './tool-sets.ts'

export interface Opening {
  readonly agent: NativeAgent
  readonly systemPrompt: string
  /** Identifies the conversation on resume, together with model, system prompt and tools. */
  readonly subject: string
  readonly scan?: Scanner | undefined
}

/** Starts a conversation, or continues a stored one. */
export async function openConversation(opening: Opening, io: AgentIo): Promise<Conversation> {
  const { agent, systemPrompt, subject, scan } = opening
  const { model: name, maxTurns, maxOutputTokens, prices } = agent
  const model = await loadModel(agent, io.env)
  const seen = new SeenFiles()
  const tools = makeTools(agent, seen, io)
  const descriptions = tools.map(({ name: tool, description, inputSchema }) => ({
    name: tool,
    description,
    inputSchema,
  }))
  const about = JSON.stringify([name, systemPrompt, descriptions, subject, io.workspace.cwd])
  const print = new Bun.CryptoHasher('sha256').update(about).digest('hex')
  const system = `${systemPrompt}\n\n${describeSurroundings(io.workspace.cwd, new Date(), io.env)}`
  const head = { id: `c-${randomLetters(16)}`, model: name, system, tools: descriptions, print }
  const history = History.open(head, io.storage, io.resumePolicy)
  for (const file of history.seen) seen.note(file)
  const headers = isScripted(agent, io.env) ? { [CONVERSATION_HEADER]: history.head.id } : undefined
  return new Conversation({
    history,
    model,
    tools,
    seen,
    maxTurns,
    maxOutputTokens,
    headers,
    price: priceOf(name, prices),
    io,
    scan,
  })
}

/** The part of the system prompt about folder, date and project; fixed for a conversation. */
function describeSurroundings(cwd: string, now: Date, env: Environment): string {
  const facts = [
    '# Where you are',
    `Working directory: ${cwd}`,
    `System: ${process.platform}`,
    `Date: ${now.toISOString().slice(0, 10)}`,
  ].join('\n')
  return [facts, ...instructionsOf(cwd, env)].join('\n\n')
}

const LIMIT_BYTES = 64 * 1024

/** The project's instructions for agents; the first file that exists is used. */
function instructionsOf(cwd: string, env: Environment): string[] {
  const folder = realPathOf(cwd) ?? cwd
  const top = repositoryTop(folder) ?? folder
  for (const name of ['AGENTS.md', 'CLAUDE.md']) {
    const heading = `# ${name} of the project`
    const path = join(folder, name)
    // The author of a repository must not be able to send other files of the user to the model.
    if (isLink(path) && findForeignLink(path, top, env) !== undefined)
      return [heading, 'It is not included here, because it is a link out of the project.']
    const file = readTextFile(path, LIMIT_BYTES)
    if (file.kind === 'text' && file.text.trim() !== '') return [heading, file.text.trim()]
    if (file.kind === 'unusable')
      return [heading, `It is not included here, because it ${file.problem}. Read it yourself.`]
  }
  return []
}

/** The tools that an agent gets, in the order in which they are sent to its model. */
function makeTools(agent: NativeAgent, seen: SeenFiles, { queue, alive }: AgentIo): AgentTool[] {
  const queueTools = queue === undefined ? [] : makeQueueTools(queue, alive)
  const all = new Map([...makeFileTools(seen), ...queueTools].map((tool) => [tool.name, tool]))
  return toolNames(agent, queue !== undefined).flatMap((name) => all.get(name) ?? [])
}
