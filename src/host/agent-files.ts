import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode, errorText, UserError } from '../base/errors.ts'
import { readTextFile } from '../base/files.ts'
import { printable } from '../base/terminal/printable.ts'
import type { Environment } from '../base/environment.ts'
import { parseAgentFile, type AgentFile } from '../chain/parse/agent-file.ts'
import type { AgentFileProblem, AgentFiles } from '../chain/plan/facts.ts'

/** Where Claude Code keeps the agents of a project. */
export const PROJECT_AGENTS = '.claude/agents'

const LIMIT_BYTES = 1024 * 1024

/** The agents that a user has for all projects. */
export function readUserAgents(env: Environment): AgentFiles {
  const { CLAUDE_CONFIG_DIR: moved = '', HOME: home = '' } = env
  if (moved !== '') return readAgentFiles(join(moved, 'agents'), join(moved, 'agents'))
  if (home === '') return { agents: new Map(), problems: [] }
  return readAgentFiles(join(home, PROJECT_AGENTS), `~/${PROJECT_AGENTS}`)
}

/** Reads the agents of a folder, which messages call `shown`; executes nothing in it. */
export function readAgentFiles(folder: string, shown: string): AgentFiles {
  const problems: AgentFileProblem[] = []
  const files = markdownIn(folder, shown, problems).map((file) => {
    const path = `${shown}/${printable(file)}`
    return { path, read: readAgent(join(folder, file), path, file.slice(0, -3)) }
  })
  problems.push(...files.flatMap(({ read }) => ('message' in read ? [read] : [])))
  const agents = new Map<string, AgentFile>()
  const isMeant = ({ read }: (typeof files)[number]) => !('isHarmless' in read)
  for (const [name, same] of Map.groupBy(files.filter(isMeant), ({ read }) => read.name)) {
    const good = same.flatMap(({ read }) => ('message' in read ? [] : [read]))
    // If several files have the same name, it is unclear which one is meant.
    if (same.length === 1 && good[0] !== undefined) agents.set(name, good[0])
    else {
      for (const agent of good.slice(good.length === same.length ? 1 : 0))
        problems.push(sameName(agent, same.find(({ path }) => path !== agent.path)!.path))
    }
  }
  return { agents, problems }
}

/** Sorted, so that the order is the same everywhere. */
function markdownIn(folder: string, shown: string, problems: AgentFileProblem[]): string[] {
  try {
    const names = readdirSync(folder)
    return names.filter((name) => /^[^.].*\.md$/s.test(name)).toSorted()
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (!['ENOENT', 'ENOTDIR'].includes(code)) {
      const why = code === 'ELOOP' ? 'it is in a symbolic link loop' : errorText(error)
      problems.push({ name: '', message: `${shown} cannot be read: ${why}.` })
    }
    return []
  }
}

function readAgent(path: string, shown: string, stem: string): AgentFile | AgentFileProblem {
  const file = readTextFile(path, LIMIT_BYTES)
  if (file.kind === 'missing') {
    return { name: stem, message: `${shown} is a broken link.` }
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

/** The name in a broken file. */
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
    message: `${path}:${line}  The name '${printable(name)}' is also used by ${other}.`,
    hint: 'Give one of them another name.',
  }
}
