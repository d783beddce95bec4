import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode, errorText, UserError } from '../base/errors.ts'
import { readTextFile } from '../base/files.ts'
import { printable } from '../base/terminal/printable.ts'
import { parseAgentFile, type AgentFile } from '../chain/parse/agent-file.ts'
import type { AgentFileProblem, AgentFiles } from '../chain/plan/facts.ts'

/** Where Claude Code keeps the agents of a project. */
export const PROJECT_AGENTS = '.claude/agents'

/** A system prompt is a few pages. */
const LIMIT_BYTES = 1024 * 1024

type Environment = Readonly<Record<string, string | undefined>>

/** The agents that a user has for all projects. */
export function readUserAgents(env: Environment): AgentFiles {
  const { CLAUDE_CONFIG_DIR: moved = '', HOME: home = '' } = env
  if (moved !== '') return readAgentFiles(join(moved, 'agents'), join(moved, 'agents'))
  if (home === '') return { agents: new Map(), problems: [] }
  return readAgentFiles(join(home, PROJECT_AGENTS), `~/${PROJECT_AGENTS}`)
}

/** Reads the agents of a folder, which people know as `shown`; nothing of it is executed. */
export function readAgentFiles(folder: string, shown: string): AgentFiles {
  const agents = new Map<string, AgentFile>()
  const problems: AgentFileProblem[] = []
  const twice = new Set<string>()
  const broken = new Map<string, string>()
  for (const file of markdownIn(folder, shown, problems)) {
    const path = `${shown}/${printable(file)}`
    const read = readAgent(join(folder, file), path, file.slice(0, -3))
    if ('message' in read) {
      problems.push(read)
      if (read.isHarmless !== true) broken.set(read.name, path)
    } else {
      const other = agents.get(read.name)
      if (other === undefined) agents.set(read.name, read)
      else {
        twice.add(read.name)
        problems.push(sameName(read, other.path))
      }
    }
  }
  // Nobody knows which of them was meant.
  for (const [name, path] of broken) {
    const good = agents.get(name)
    if (good === undefined) continue
    if (!twice.has(name)) problems.push(sameName(good, path))
    twice.add(name)
  }
  for (const name of twice) agents.delete(name)
  return { agents, problems }
}

/** In an order that is the same everywhere. */
function markdownIn(folder: string, shown: string, problems: AgentFileProblem[]): string[] {
  try {
    const names = readdirSync(folder)
    return names.filter((name) => /^[^.].*\.md$/s.test(name)).toSorted()
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (!['ENOENT', 'ENOTDIR'].includes(code)) {
      const why = code === 'ELOOP' ? 'it leads in a circle' : errorText(error)
      problems.push({ name: '', message: `${shown} cannot be read: ${why}.` })
    }
    return []
  }
}

function readAgent(path: string, shown: string, stem: string): AgentFile | AgentFileProblem {
  const file = readTextFile(path, LIMIT_BYTES)
  if (file.kind === 'missing') {
    return { name: stem, message: `${shown} is a link that leads nowhere.` }
  }
  if (file.kind === 'unusable') return { name: stem, message: `${shown} ${file.problem}.` }
  if (file.text.includes('\0')) {
    return { name: stem, message: `${shown} is not text: it has NUL bytes.` }
  }
  try {
    return parseAgentFile(file.text, shown, stem) ?? noFrontmatter(shown, stem)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return { name: nameIn(file.text) ?? stem, message: error.message, hint: error.hint }
  }
}

/** What a file that is broken calls itself. */
function nameIn(text: string): string | undefined {
  const [head = ''] = text.split(/^---[ \t]*\r?$/m).slice(1)
  const [, , name] = /^name:[ \t]*(["']?)([\w.-]+)\1[ \t]*\r?$/m.exec(head) ?? []
  return name
}

function noFrontmatter(shown: string, name: string): AgentFileProblem {
  return {
    name,
    message: `${shown}:1  No frontmatter found, so this is not an agent.`,
    hint: `To make it one, start the file with three lines: --- name: ${printable(name)} ---`,
    isHarmless: true,
  }
}

function sameName({ name, path, line }: AgentFile, other: string): AgentFileProblem {
  return {
    name,
    message: `${path}:${line}  Its name '${printable(name)}' is also that of ${other}.`,
    hint: 'Give one of them another name.',
  }
}
