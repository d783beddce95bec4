/** Children that the runtime reaps itself. */
const own = new Set<number>()

/** Marks a child as started by us while it runs, so that it is not reaped as an adopted orphan. */
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
