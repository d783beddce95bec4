interface Status {
  /** Undefined before the first commit. */
  readonly head: string | undefined
  /** Paths that differ from HEAD. */
  readonly entries: readonly Entry[]
}

interface Entry {
  /** As bytes: names of files need not be valid UTF-8. */
  readonly path: Buffer
  /** A submodule, or an untracked nested repository. */
  readonly isRepository: boolean
}

/** The number of fields before the path, by the first field of a line. */
const FIELDS: Readonly<Record<string, number>> = { '1': 8, u: 10, '?': 1 }

/** The offset of the submodule field in a line of a tracked path. */
const SUBMODULE = '1 XY '.length

const HEAD = '# branch.oid '

/** Parses the output of `git status --porcelain=v2 --branch -z --no-renames`. */
export function parseGitStatus(said: Buffer): Status {
  let head: string | undefined
  const entries = new Map<string, Entry>()
  // One character per byte: paths need not be valid UTF-8.
  for (const line of said.toString('latin1').split('\0')) {
    if (line.startsWith(HEAD)) head = line.slice(HEAD.length)
    const fields = FIELDS[line[0] ?? '']
    if (fields === undefined) continue
    const isFolder = line.endsWith('/')
    const path = line.slice(endOfFields(line, fields), isFolder ? -1 : undefined)
    const isRepository = isFolder || (fields > 1 && line[SUBMODULE] === 'S')
    entries.set(path, { path: Buffer.from(path, 'latin1'), isRepository })
  }
  return { head: head === '(initial)' ? undefined : head, entries: [...entries.values()] }
}

function endOfFields(line: string, count: number): number {
  let at = 0
  for (let field = 0; field < count; field++) at = line.indexOf(' ', at) + 1
  return at
}
