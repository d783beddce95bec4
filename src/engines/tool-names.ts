import type { Problem } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'

/** The tools of the built-in agent for files and commands. */
export const FILE_TOOLS = ['read', 'write', 'edit', 'bash', 'grep', 'glob']

/** Its tools for sub-agents; elsewhere they are those of our MCP server. */
export const QUEUE_TOOLS = ['push', 'run', 'receive', 'check', 'send', 'queue', 'inbox', 'cancel']

const OUR_SERVER = 'mcp__forkhestra'

/** Of Claude Code; the built-in agent has none of them, so that nothing has to be shut. */
const ELSEWHERE = new Set(
  'agent task webfetch websearch todowrite todoread notebookedit notebookread skill slashcommand ls bashoutput killshell killbash exitplanmode enterplanmode askuserquestion toolsearch'.split(
    ' ',
  ),
)

/** As an agent's configuration has them, in our words or in those of Claude Code. */
export interface ToolLists {
  readonly allowedTools?: readonly string[] | undefined
  readonly disallowedTools?: readonly string[] | undefined
}

/** What the built-in agent cannot keep of its lists; to be refused before it starts. */
export function toolProblems(lists: ToolLists): readonly Problem[] {
  return (['allowedTools', 'disallowedTools'] as const).flatMap((list) =>
    (lists[list] ?? []).flatMap((entry) => problemOf(list, entry) ?? []),
  )
}

/** Whether the built-in agent may use a tool; lists without problems only. */
export function mayUse(tool: string, { allowedTools, disallowedTools }: ToolLists): boolean {
  const names = (entries: readonly string[]) => entries.flatMap(toolsOf).includes(tool)
  return (allowedTools === undefined || names(allowedTools)) && !names(disallowedTools ?? [])
}

/** An entry: a tool, and what follows it in parentheses. */
function partsOf(entry: string): { readonly tool: string; readonly pattern: string | undefined } {
  const [, tool = entry, pattern] = /^([^(]+)\((.*)\)$/s.exec(entry.trim()) ?? []
  return { tool: tool.trim(), pattern: pattern === '*' ? undefined : pattern }
}

function toolsOf(entry: string): readonly string[] {
  const { tool } = partsOf(entry)
  if (tool === OUR_SERVER || tool === `${OUR_SERVER}__*`) return QUEUE_TOOLS
  const word = tool.replace(`${OUR_SERVER}__`, '').toLowerCase()
  if (word === 'multiedit') return ['edit']
  return [...FILE_TOOLS, ...QUEUE_TOOLS].filter((name) => name === word)
}

function problemOf(list: string, entry: string): Problem | undefined {
  const { tool, pattern } = partsOf(entry)
  const isKnown = toolsOf(entry).length > 0
  if (isKnown && pattern !== undefined) return patternProblem(list, entry, tool)
  if (isKnown || tool.startsWith('mcp__') || ELSEWHERE.has(tool.toLowerCase())) return undefined
  const suggestion = didYouMean(tool.toLowerCase(), [...FILE_TOOLS, ...QUEUE_TOOLS])
  return {
    message: `${list}: the built-in agent knows no tool '${entry}'${suggestion}`,
    hint: `Its tools are ${[...FILE_TOOLS, ...QUEUE_TOOLS].join(', ')}.`,
  }
}

function patternProblem(list: string, entry: string, tool: string): Problem {
  const why =
    tool.toLowerCase() === 'bash'
      ? 'a command that begins harmlessly can do anything further on'
      : 'its tools can be had as a whole only'
  return {
    message: `${list}: the built-in agent cannot keep '${entry}': ${why}.`,
    hint: `Write '${tool}', or leave it out; an agent that only reads has read, grep and glob.`,
  }
}
