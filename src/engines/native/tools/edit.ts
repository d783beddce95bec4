import * as z from 'zod/mini'
import { counted } from '../../../base/amounts.ts'
import { shownPath } from '../../../base/terminal/printable.ts'
import { applyEdits, describeLines } from './apply-edits.ts'
import { makeDiff, readExisting, saveFile, type Existing } from './change-file.ts'
import { flagField, makeTool, pathField, textField } from './make-tool.ts'
import { fail, refuse } from './problems.ts'
import { seenFile, type SeenFiles } from './seen.ts'
import type { AgentTool, ToolAnswer, Workspace } from './tool.ts'

const edit = z.strictObject(
  {
    old: textField('the text to be replaced').check(
      z.describe('exact text of the file, without line numbers'),
    ),
    new: textField('the text to put there'),
    replaceAll: z.optional(flagField()),
  },
  { error: 'an object such as { "old": "a", "new": "b" }' },
)

const list = 'a list such as [{ "old": "a", "new": "b" }]'

const schema = z.strictObject({
  path: pathField(),
  edits: z.array(edit, { error: list }).check(z.minLength(1, { error: list })),
})

type Input = z.output<typeof schema>

export function makeEditTool(seen: SeenFiles): AgentTool {
  return makeTool({
    name: 'edit',
    description:
      'Replaces text in a file. Each old must occur exactly once, unless replaceAll. Edits are applied in order: all or none.',
    schema,
    brief: (input) => input.path,
    call: async (input, workspace) => {
      const existing = readExisting('edit', input.path, workspace)
      return 'answer' in existing ? existing.answer : change(input, existing, seen, workspace)
    },
  })
}

async function change(
  input: Input,
  existing: Existing,
  seen: SeenFiles,
  workspace: Workspace,
): Promise<ToolAnswer> {
  if (existing.bytes.includes(0)) return refuse('edit', input.path, 'it is a binary file')
  const applied = applyEdits(existing.bytes.toString('latin1'), input.edits)
  if ('problem' in applied) {
    return fail(`Nothing was changed in ${shownPath(input.path)}: ${applied.problem}.`)
  }
  const bytes = Buffer.from(applied.content, 'latin1')
  const problem = saveFile(existing.path, bytes, existing.mode, workspace)
  if (problem !== undefined) return refuse('edit', input.path, problem)
  const knew = seen.knows(seenFile(existing.path, existing.bytes))
  const now = seenFile(existing.path, bytes)
  // In a partly seen file, line numbers may have moved.
  const known = knew === 'yes' ? now : knew === 'a part' ? { ...now, part: NO_LINE } : undefined
  if (known !== undefined) seen.note(known)
  const count = counted(applied.lines.flat().length, 'replacement')
  const where = applied.lines.map(describeLines).join('; ')
  return {
    text: `Edited ${shownPath(input.path)}: ${count}, at ${where}.${knew === 'an older state' ? CHANGED : ''}`,
    diff: await makeDiff(existing.path, existing.bytes, bytes, workspace),
    ...(known === undefined ? {} : { seen: known }),
  }
}

const CHANGED = ' The file has changed since you read it: read it again.'

const NO_LINE = { first: 1, last: 0, total: 1 }
