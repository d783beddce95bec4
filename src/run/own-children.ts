/** Children whose end the runtime itself takes note of. */
const own = new Set<number>()

/** Sees to it that nobody else takes note of the end of a child that we started ourselves. */
export async function waitForOwn<Result>(pid: number, ended: Promise<Result>): Promise<Result> {
  own.add(pid)
  try {
    return await ended
  } finally {
    own.delete(pid)
  }
}

export function isOwnChild(pid: number): boolean {
  return own.has(pid)
}
