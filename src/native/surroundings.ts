import { join } from 'node:path'
import { readTextFile } from '../base/files.ts'

/** What a project tells agents about itself, the first that there is. */
const INSTRUCTIONS = ['AGENTS.md', 'CLAUDE.md']
const LIMIT_BYTES = 64 * 1024

/** What an agent has to know of where it works; it is read once, and stays the same. */
export function describeSurroundings(cwd: string, now: Date): string {
  const facts = [
    '# Where you are',
    `Working directory: ${cwd}`,
    `System: ${process.platform}`,
    `Date: ${now.toISOString().slice(0, 10)}`,
  ].join('\n')
  return [facts, ...instructionsOf(cwd)].join('\n\n')
}

function instructionsOf(cwd: string): string[] {
  for (const name of INSTRUCTIONS) {
    const file = readTextFile(join(cwd, name), LIMIT_BYTES)
    if (file.kind === 'text' && file.text.trim() !== '')
      return [`# ${name} of the project\n\n${file.text.trim()}`]
    if (file.kind === 'unusable')
      return [
        `# ${name} of the project\n\nIt ${file.problem}, and so does not stand here. Read it.`,
      ]
  }
  return []
}
