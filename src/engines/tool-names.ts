import type { Problem } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'

/** File and command tools of the built-in agent. */
export const FILE_TOOLS = ['read', 'write', 'edit', 'bash', 'grep', 'glob']

/** Queue and inbox tools: tools of the built-in agent, and of the MCP server for other agents. */
export const QUEUE_TOOLS = ['push', 'run', 'receive', 'check', 'send', 'queue', 'inbox', 'cancel']

const ALL_TOOLS = [...FILE_TOOLS, ...QUEUE_TOOLS]

const OUR_SERVER = 'mcp__forkhestra'

/** Tools of Claude Code that the built-in agent does not have: naming them has no effect. */
const CLAUDE_TOOLS = new Set(
  'agent task webfetch websearch todowrite todoread notebookedit notebookread skill slashcommand ls bashoutput killshell killbash exitplanmode enterplanmode askuserquestion toolsearch'.split(
    ' ',
  ),
)

/** The lists of an agent's configuration, with our tool names or those of Claude Code. */
export interface ToolLists {
  readonly allowedTools?: readonly string[] | undefined
  readonly disallowedTools?: readonly string[] | undefined
}

/** Entries that the built-in agent cannot enforce. */
export function toolProblems(lists: ToolLists): readonly Problem[] {
  return (['allowedTools', 'disallowedTools'] as const).flatMap((list) =>
    (lists[list] ?? []).flatMap((entry) => problemOf(list, entry) ?? []),
  )
}

/** Whether the built-in agent may use a tool; the lists must have no `toolProblems`. */
export function isAllowed(tool: string, { allowedTools, disallowedTools }: ToolLists): boolean {
  const names = (entries: readonly string[]) => entries.flatMap(toolsOf).includes(tool)
  return (allowedTools === undefined || names(allowedTools)) && !names(disallowedTools ?? [])
}

/** Splits `Bash(git *)` into tool and pattern. */
function parseEntry(entry: string): {
  readonly tool: string
  readonly pattern: string | undefined
} {
  const [, tool = entry, pattern] = /^([^(]+)\((.*)\)$/s.exec(entry.trim()) ?? []
  return { tool: tool.trim(), pattern: pattern === '*' ? undefined : pattern }
}

function toolsOf(entry: string): readonly string[] {
  const { tool } = parseEntry(entry)
  if (tool === OUR_SERVER || tool === `${OUR_SERVER}__*`) return QUEUE_TOOLS
  const word = tool.replace(`${OUR_SERVER}__`, '').toLowerCase()
  if (word === 'multiedit') return ['edit']
  return ALL_TOOLS.filter((name) => name === word)
}

function problemOf(list: string, entry: string): Problem | undefined {
  const { tool, pattern } = parseEntry(entry)
  const word = tool.toLowerCase()
  const isKnown = toolsOf(entry).length > 0
  if (isKnown && pattern !== undefined) {
    const why =
      word === 'bash'
        ? 'a command with a harmless start can still do anything'
        : 'a tool can only be allowed as a whole'
    return {
      message: `${list}: the built-in agent cannot enforce '${entry}': ${why}.`,
      hint: `Use '${tool}', or leave it out; for a read-only agent, allow read, grep and glob.`,
    }
  }
  if (isKnown || tool.startsWith('mcp__') || CLAUDE_TOOLS.has(word)) return undefined
  return {
    message: `${list}: the built-in agent has no tool '${entry}'${didYouMean(word, ALL_TOOLS)}`,
    hint: `Its tools are ${ALL_TOOLS.join(', ')}.`,
  }
}
