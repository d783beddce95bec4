import * as z from 'zod/mini'
import { counted } from '../../base/amounts.ts'
import { shownPath } from '../../base/printable.ts'
import { applyEdits, linesInWords } from './apply-edits.ts'
import { makeDiff } from './diff.ts'
import { readExisting, type Existing } from './existing.ts'
import { flag, path, text } from './fields.ts'
import { makeTool } from './make-tool.ts'
import { failed, refused } from './problems.ts'
import { saveFile } from './save.ts'
import { seenFile, type Seen, type SeenFile } from './seen.ts'
import type { AgentTool, ToolAnswer, Workplace } from './tool.ts'
import { shownIn } from './shown-in.ts'

const edit = z.strictObject(
  {
    old: text('the text to be replaced').check(
      z.describe('exact text of the file, without line numbers'),
    ),
    new: text('the text to put there'),
    replaceAll: z.optional(flag()),
  },
  { error: 'an object such as { "old": "a", "new": "b" }' },
)

const list = 'a list such as [{ "old": "a", "new": "b" }]'

const schema = z.strictObject({
  path: path(),
  edits: z.array(edit, { error: list }).check(z.minLength(1, { error: list })),
})

type Input = z.output<typeof schema>

export function makeEditTool(seen: Seen): AgentTool {
  return makeTool({
    name: 'edit',
    description:
      'Replaces text in a file. Each old must be there exactly once, unless replaceAll. Edits are applied in order: all or none.',
    schema,
    brief: (input) => input.path,
    call: async (input, workplace) => {
      const existing = readExisting('edit', input.path, workplace)
      return 'answer' in existing ? existing.answer : change(input, existing, seen, workplace)
    },
  })
}

async function change(
  input: Input,
  existing: Existing,
  seen: Seen,
  workplace: Workplace,
): Promise<ToolAnswer> {
  if (existing.bytes.includes(0)) return refused('edit', input.path, 'it is a binary file')
  const applied = applyEdits(existing.bytes.toString('latin1'), input.edits)
  if ('problem' in applied) {
    return failed(`Nothing was changed in ${shownPath(input.path)}: ${applied.problem}.`)
  }
  const bytes = Buffer.from(applied.content, 'latin1')
  const problem = saveFile(existing.path, bytes, existing.mode, workplace)
  if (problem !== undefined) return refused('edit', input.path, problem)
  const knew = seen.knows(seenFile(existing.path, existing.bytes))
  return {
    text: `${told(input.path, applied.lines)}${knew === 'an older state' ? CHANGED : ''}`,
    diff: await makeDiff(shownIn(existing.path, workplace), existing.bytes, bytes),
    ...knownAfter(knew, seenFile(existing.path, bytes), seen),
  }
}

const CHANGED = ' Somebody else has changed the file since it was read: read it again.'

const NO_LINE = { first: 1, last: 0, total: 1 }

/** Only who knew all of the file before knows all of it now; of a part the numbers may have moved. */
function knownAfter(
  knew: ReturnType<Seen['knows']>,
  file: SeenFile,
  seen: Seen,
): { readonly seen?: SeenFile } {
  if (knew !== 'yes' && knew !== 'a part') return {}
  const now = knew === 'yes' ? file : { ...file, part: NO_LINE }
  seen.note(now)
  return { seen: now }
}

function told(name: string, lines: readonly (readonly number[])[]): string {
  const count = counted(lines.flat().length, 'replacement')
  return `Edited ${shownPath(name)}: ${count}, at ${lines.map(linesInWords).join('; ')}.`
}
