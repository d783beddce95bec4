import * as z from 'zod/mini'
import { counted } from '../../base/amounts.ts'
import { pathInside } from '../../base/places.ts'
import { shownPath } from '../../base/printable.ts'
import { makeDiff } from './diff.ts'
import { readExisting, type Existing } from './existing.ts'
import { path, text } from './fields.ts'
import { BOM, bytesOf, endsWithCrlf, withCrlf } from './line-ends.ts'
import { makeTool } from './make-tool.ts'
import { outside, refused } from './problems.ts'
import { saveFile } from './save.ts'
import { shownIn } from './shown-in.ts'
import { seenFile, type Seen } from './seen.ts'
import type { AgentTool, ToolAnswer, Workplace } from './tool.ts'

const schema = z.strictObject({
  path: path(),
  content: text('the whole content as text'),
})

type Input = z.output<typeof schema>

export function makeWriteTool(seen: Seen): AgentTool {
  return makeTool({
    name: 'write',
    description:
      'Makes a file, with its folders, or replaces all of its content. What exists must have been read before, all of it; prefer edit for changes.',
    schema,
    brief: (input) => input.path,
    call: async (input, workplace) => {
      const existing = readExisting('write', input.path, workplace)
      if (!('answer' in existing)) return replace(input, existing, seen, workplace)
      return existing.missing ? create(input, seen, workplace) : existing.answer
    },
  })
}

async function create(input: Input, seen: Seen, workplace: Workplace): Promise<ToolAnswer> {
  const target = pathInside(input.path, workplace)
  if (target === undefined) return outside('write', input.path, workplace)
  return store(input.path, { path: target }, Buffer.from(input.content), seen, workplace)
}

async function replace(
  input: Input,
  existing: Existing,
  seen: Seen,
  workplace: Workplace,
): Promise<ToolAnswer> {
  const known = seen.knows(seenFile(existing.path, existing.bytes))
  const bytes = inTheWayOf(existing.bytes, input.content)
  if (bytes.equals(existing.bytes))
    return { text: `${shownPath(input.path)} is exactly so already.` }
  if (existing.bytes.includes(0)) {
    return refused('write', input.path, 'it exists and is a binary file; remove it first')
  }
  if (known === 'not') {
    return refused(
      'write',
      input.path,
      'it exists and was not read in this conversation; read it first',
    )
  }
  if (known === 'a part') {
    const problem = 'only a part of it was read in this conversation; read the rest, or use edit'
    return refused('write', input.path, problem)
  }
  if (known === 'an older state') {
    return refused('write', input.path, 'it has changed since it was read; read it again')
  }
  return store(input.path, existing, bytes, seen, workplace)
}

/** With the byte order mark and the line ends of before, which a model does not see. */
function inTheWayOf(before: Buffer, content: string): Buffer {
  const old = before.toString('latin1')
  const lines = bytesOf(content)
  const ended = endsWithCrlf(old) && !lines.includes('\r') ? withCrlf(lines) : lines
  const mark = old.startsWith(BOM) && !ended.startsWith(BOM) ? BOM : ''
  return Buffer.from(mark + ended, 'latin1')
}

interface Target {
  readonly path: string
  readonly bytes?: Buffer
  readonly mode?: number
}

/** Writes it and tells so; what was written is known. */
async function store(
  name: string,
  target: Target,
  bytes: Buffer,
  seen: Seen,
  workplace: Workplace,
): Promise<ToolAnswer> {
  const problem = saveFile(target.path, bytes, target.mode, workplace)
  if (problem !== undefined) return refused('write', name, problem)
  const file = seenFile(target.path, bytes)
  seen.note(file)
  const verb = target.bytes === undefined ? 'Made' : 'Replaced'
  const diff = await makeDiff(shownIn(target.path, workplace), target.bytes, bytes)
  return {
    text: `${verb} ${shownPath(name)}: ${counted(lineCount(bytes), 'line')}.`,
    diff,
    seen: file,
  }
}

function lineCount(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split('\n')
  return lines.length - (lines.at(-1) === '' ? 1 : 0)
}
