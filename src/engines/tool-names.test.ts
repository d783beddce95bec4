import { expect, test } from 'bun:test'
import { TOOLS as QUEUE_TOOL_DEFINITIONS } from '../queue/tools/tools.ts'
import { isAllowed, QUEUE_TOOLS, toolProblems, type ToolLists } from './tool-names.ts'

const ALL = 'read write edit bash grep glob push run receive check send queue inbox cancel'.split(
  ' ',
)

function chosen(lists: ToolLists): string {
  return ALL.filter((tool) => isAllowed(tool, lists)).join(' ')
}

const CHOICES: readonly (readonly [ToolLists, string])[] = [
  [{}, ALL.join(' ')],
  [{ allowedTools: [] }, ''],
  [{ allowedTools: ['Read', 'Grep', 'Glob', 'Bash'] }, 'read bash grep glob'],
  [{ allowedTools: ['read', ' Edit '] }, 'read edit'],
  [{ allowedTools: ['Bash(*)'] }, 'bash'],
  [{ allowedTools: ['MultiEdit'] }, 'edit'],
  [{ allowedTools: ['Read', 'mcp__forkhestra__push'] }, 'read push'],
  [{ allowedTools: ['mcp__forkhestra'] }, ALL.slice(6).join(' ')],
  [{ disallowedTools: ['mcp__forkhestra__*'] }, ALL.slice(0, 6).join(' ')],
  [{ allowedTools: ['Read', 'Write'], disallowedTools: ['Write'] }, 'read'],
  [{ disallowedTools: ['WebFetch', 'WebSearch', 'mcp__x__y'] }, ALL.join(' ')],
  [{ allowedTools: ['Read', 'WebFetch(domain:example.org)', 'mcp__x'] }, 'read'],
]

test.each(CHOICES)('%j allows these tools', (lists, names) => {
  expect(toolProblems(lists)).toEqual([])
  expect(chosen(lists)).toBe(names)
})

const TOOLS = `Its tools are ${ALL.join(', ')}.`
const READS = 'or leave it out; for a read-only agent, allow read, grep and glob.'

const PROBLEMS: readonly (readonly [ToolLists, string, string])[] = [
  [
    { allowedTools: ['Bash(git *)'] },
    "allowedTools: the built-in agent cannot enforce 'Bash(git *)': a command with a harmless start can still do anything.",
    `Use 'Bash', ${READS}`,
  ],
  [
    { disallowedTools: ['Read(./secrets/**)'] },
    "disallowedTools: the built-in agent cannot enforce 'Read(./secrets/**)': a tool can only be allowed as a whole.",
    `Use 'Read', ${READS}`,
  ],
  [
    { disallowedTools: ['Bsah'] },
    "disallowedTools: the built-in agent has no tool 'Bsah' (did you mean 'bash'?)",
    TOOLS,
  ],
  [{ allowedTools: [''] }, "allowedTools: the built-in agent has no tool ''", TOOLS],
]

test.each(PROBLEMS)('%j is refused', (lists, message, hint) => {
  expect(toolProblems(lists)).toEqual([{ message, hint }])
})

test('all problems of both lists are reported', () => {
  const lists = { allowedTools: ['Read', 'x', 'Bash(ls)'], disallowedTools: ['y'] }
  expect(toolProblems(lists)).toHaveLength(3)
})

test('the list of queue tools is complete', () => {
  expect(QUEUE_TOOLS).toEqual(QUEUE_TOOL_DEFINITIONS.map(({ name }) => name))
})
