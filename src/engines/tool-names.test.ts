import { expect, test } from 'bun:test'
import { mayUse, toolProblems, type ToolLists } from './tool-names.ts'

const ALL = 'read write edit bash grep glob push run receive check send queue inbox cancel'.split(
  ' ',
)

function chosen(lists: ToolLists): string {
  return ALL.filter((tool) => mayUse(tool, lists)).join(' ')
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

test.each(CHOICES)('%j leaves these tools', (lists, names) => {
  expect(toolProblems(lists)).toEqual([])
  expect(chosen(lists)).toBe(names)
})

const TOOLS = `Its tools are ${ALL.join(', ')}.`
const READS = 'or leave it out; an agent that only reads has read, grep and glob.'

const PROBLEMS: readonly (readonly [ToolLists, string, string])[] = [
  [
    { allowedTools: ['Bash(git *)'] },
    "allowedTools: the built-in agent cannot keep 'Bash(git *)': a command that begins harmlessly can do anything further on.",
    `Write 'Bash', ${READS}`,
  ],
  [
    { disallowedTools: ['Read(./secrets/**)'] },
    "disallowedTools: the built-in agent cannot keep 'Read(./secrets/**)': its tools can be had as a whole only.",
    `Write 'Read', ${READS}`,
  ],
  [
    { disallowedTools: ['Bsah'] },
    "disallowedTools: the built-in agent knows no tool 'Bsah', did you mean 'bash'?",
    TOOLS,
  ],
  [{ allowedTools: [''] }, "allowedTools: the built-in agent knows no tool ''", TOOLS],
]

test.each(PROBLEMS)('%j is refused', (lists, message, hint) => {
  expect(toolProblems(lists)).toEqual([{ message, hint }])
})

test('every problem of both lists is named', () => {
  const lists = { allowedTools: ['Read', 'x', 'Bash(ls)'], disallowedTools: ['y'] }
  expect(toolProblems(lists)).toHaveLength(3)
})
